"""Passwords by argon2id, and tokens that nobody can guess."""

from __future__ import annotations

import hashlib
import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from discreet.errors import ParameterError

SHORTEST, LONGEST = 12, 256
KEY = "dk_"
"""How a key begins, so that it is known for one wherever it turns up."""

_hasher = PasswordHasher()  # argon2id, RFC 9106 with 64 MiB


def hashed(password: str) -> str:
    """Return the hash of a password that is long enough."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise ParameterError(f"a password must have {SHORTEST} to {LONGEST} characters.")
    if len(set(password)) < 5:
        raise ParameterError("a password must have at least 5 different characters.")
    return _hasher.hash(password)


@cache
def _nobodys() -> str:
    return _hasher.hash(secrets.token_hex(16))


def matches(password: str, kept: str) -> bool:
    """Whether a password is the one of a hash. Takes as long where there is none, or no person."""
    try:
        return _hasher.verify(kept or _nobodys(), password[: LONGEST + 1]) and bool(kept)
    except (VerifyMismatchError, VerificationError, InvalidHashError):
        return False


def token() -> str:
    """Return 32 random bytes as text."""
    return secrets.token_urlsafe(32)


def digest(text: str) -> str:
    """Return what is kept of a token; 32 random bytes need no slow hash."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
