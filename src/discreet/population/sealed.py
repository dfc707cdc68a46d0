"""Whether a store has everything that belongs to its current version; if not, it is sealed.

With another secret the same table would have other noise, and the mean of the two is nearer to the
truth than either. So a store whose secret is missing or another's answers no command and no server.
"""

from __future__ import annotations

from typing import Any

from discreet.errors import ParameterError, Sealed
from discreet.population import signing, state
from discreet.population.keys import Secret
from discreet.population.store import Store, Version

REMEDY = (
    "New keys would be new noise on the same data, which can be averaged with the old. Put the "
    "secret back, or give every record a new key with --new-secret."
)


def unsealed(store: Store, version: Version) -> Secret:
    """Return the secret of a version, or raise `Sealed` with what to do.

    Everything that must be there before a store is used is looked at here.
    """
    secret = secret_of(store, version.manifest)
    signing.check(store.path)
    state.check(store.path)
    return secret


def secret_of(store: Store, manifest: dict[str, Any]) -> Secret:
    """Return the secret that a version was built with, or raise `Sealed`."""
    wanted = manifest.get("secret")
    # A build puts the new secret beside the old one, and in its place after the switch.
    for path in (store.secret, store.next_secret):
        try:
            found = Secret.read(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ParameterError(f"{path} cannot be read: {error.strerror}.") from error
        if found.fingerprint() == wanted:
            return found
    if not store.secret.exists():
        raise Sealed(f"{store.secret} is missing. {REMEDY}")
    raise Sealed(
        f"{store.secret} is not the secret that the current version was built with. {REMEDY}"
    )
