"""`discreet round`: placeholder."""


def command() -> None:
    """Placeholder."""
