"""Keys and certificates that are good for a day, for servers of tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def certificate(folder: Path, name: str = "certificate", *, host: str = "127.0.0.1") -> Path:
    """``folder/NAME.pem``, a certificate for ``host`` that is its own authority; its key is ``folder/NAME.key``."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    try:
        alternative_name: x509.GeneralName = x509.IPAddress(ip_address(host))
    except ValueError:
        alternative_name = x509.DNSName(host)
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([alternative_name]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / f"{name}.key").write_bytes(_pem(key))
    path = folder / f"{name}.pem"
    path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    return path


def rsa_key(path: Path) -> None:
    """Write a key of 2,048 bits, with which an API server signs tokens of service accounts."""
    path.write_bytes(_pem(rsa.generate_private_key(public_exponent=65537, key_size=2048)))
