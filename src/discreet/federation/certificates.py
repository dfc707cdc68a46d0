"""Certificates for one machine: an authority and servers on the loopback, for demo and tests.

Offices use those of their own authority.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from discreet.files import written

_DAYS = 3650


def make_certificates(folder: Path, names: Sequence[str]) -> Path:
    """Write NAME.pem and NAME.key for 127.0.0.1 by a new authority; return its certificate.

    The key of the authority is kept nowhere: it signs these and no others.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = generate(SECP256R1())
    authority = _certificate("Discreet on this machine", key, None, key)
    for name in names:
        own = generate(SECP256R1())
        made = _certificate(name, own, authority, key)
        _write(folder / f"{name}.pem", made.public_bytes(Encoding.PEM))
        secret = own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        _write(folder / f"{name}.key", secret)
    _write(folder / "ca.pem", authority.public_bytes(Encoding.PEM))
    return folder / "ca.pem"


def _certificate(
    name: str,
    key: EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    signer: EllipticCurvePrivateKey,
) -> x509.Certificate:
    """Return a certificate: of an authority where there is no issuer, else of a server."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    usage = x509.KeyUsage(True, False, False, False, False, issuer is None, issuer is None,
                          False, False)  # fmt: skip
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(issuer is None, None), True)
        .add_extension(usage, True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False
        )
    )
    if issuer is not None:
        names = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")]
        made = made.add_extension(x509.SubjectAlternativeName(names), False)
    return made.sign(signer, SHA256())


def _write(path: Path, content: bytes) -> None:
    with written(path) as file:
        file.write(content)
