"""A certificate authority for one run, so that clients can be answered under their vendors' names over TLS.

The authority's key never leaves memory; the key of the certificate for the vendors' hosts does for a moment, in a
private folder, because `ssl` reads keys from files. Only who was given the authority's certificate trusts it.
"""

import ssl
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_VALID = timedelta(days=30)  # a served simulator may run for long, and the clock of a container may be off


class AuthorityMissing(Exception):
    """The library that makes certificates is not installed."""


class Authority:
    """Made for `hosts`: `path` is the file with its certificate, for clients to trust; `context` the server's side of
    TLS. `close` removes what it wrote. Raises `AuthorityMissing`."""

    def __init__(self, hosts: Iterable[str]) -> None:
        try:
            from cryptography import x509  # noqa: F401
        except ImportError:
            raise AuthorityMissing("--proxy needs the library cryptography: pip install 'clawlab[proxy]'") from None
        self._folder = tempfile.TemporaryDirectory(prefix="claw-proxy-")  # mode 0700
        folder = Path(self._folder.name)
        self.path = folder / "ca.pem"
        certificate, chain, key = _make(tuple(hosts))
        self.path.write_bytes(certificate)
        self.context = _context(folder, chain, key)

    def close(self) -> None:
        self._folder.cleanup()


def _context(folder: Path, chain: bytes, key: bytes) -> ssl.SSLContext:
    chain_file, key_file = folder / "hosts.pem", folder / "hosts.key"
    chain_file.write_bytes(chain)
    key_file.touch(mode=0o600)
    key_file.write_bytes(key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain_file, key_file)
    key_file.unlink()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _make(hosts: tuple[str, ...]) -> tuple[bytes, bytes, bytes]:
    """The authority's certificate, the chain for the hosts, and the key of the latter; all PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    pem = serialization.Encoding.PEM
    key, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _name("claw simulators (this run only)")
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    authority = (
        _builder(issuer, issuer, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    leaf = (
        _builder(_name(hosts[0]), issuer, own.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    certificate = authority.public_bytes(pem)
    return certificate, leaf.public_bytes(pem) + certificate, private


def _name(common: str) -> Any:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])


def _builder(subject: Any, issuer: Any, public_key: Any) -> Any:
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _VALID)
    )
