"""What an office allows."""

from discreet.policy.model import Policy

__all__ = ["Policy"]
