"""Ed25519 keys: made, kept in files, and used to sign entries and bundles.

Invariants
  Y1  A private key is written to a new file that only its owner can read, and is read from no
      other kind of file.
  Y2  A file of public keys holds PEM blocks, or OpenSSH's lines, one after another: every key that
      was ever used. A key is retired by signing with a newer one, and disowned by taking it out of
      the file.
  Y3  A private key is read from PKCS #8, of either version, and from OpenSSH's form, each without a
      password. Of anything else it is said what it is, and how to make one of these of it.
"""

import base64
import os
import re
import stat
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from eligibility.evidence.entry import EntrySignature, PublicKey, signed_text
from preview.errors import KeyFileError

KEY_FILE_BYTES_MAX = 64 * 1024
_PEM = re.compile(
    rb"\s*(?:(-----BEGIN PUBLIC KEY-----\r?\n[A-Za-z0-9+/=\r\n]+-----END PUBLIC KEY-----)"
    rb"|(ssh-ed25519 [A-Za-z0-9+/=]+)(?:[ \t][^\r\n]*)?(?=[\r\n]|\Z))"
)
_PRIVATE = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END \1-----")
# An Ed25519 key in PKCS #8 of version 2: its public part stands behind it (RFC 5958), in some files
# under another tag. Attributes may stand between.
_VERSION_2 = re.compile(
    rb"\x30.\x02\x01\x01\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20(.{32})"
    rb"(?:\xa0.*?)?(?:\x81\x21\x00(.{32})|\xa1\x23\x03\x21\x00(.{32}))?",
    re.DOTALL,
)
_MENDED = {
    "ENCRYPTED PRIVATE KEY": "it has a password; write a copy without: openssl pkey -in FILE -out NEW",
    "PUBLIC KEY": "it is a public key; name the file of the private one",
    "RSA PRIVATE KEY": "it is an RSA key; make an Ed25519 key: eligibility ledger keygen",
    "EC PRIVATE KEY": "it is an EC key; make an Ed25519 key: eligibility ledger keygen",
    "OPENSSH PRIVATE KEY": (
        "it has a password, or is no Ed25519 key; take the password out of a copy:"
        " ssh-keygen -p -N '' -f COPY"
    ),
    "PRIVATE KEY": (
        "it is no key that this program reads; write it anew: openssl pkey -in FILE -out NEW"
    ),
}
_NO_KEY = "it holds no private key in PEM; make one: eligibility ledger keygen"


class SigningKey:
    """One private key.

    Attributes:
        public: its public part.
    """

    def __init__(self, private: Ed25519PrivateKey) -> None:
        """Take a private key."""
        self._private = private
        self.public = PublicKey.of(private.public_key().public_bytes_raw())

    def sign(self, entry: str) -> EntrySignature:
        """Sign an entry.

        Args:
            entry: its hash.

        Returns:
            The signature, with the key's id.
        """
        made = self._private.sign(signed_text(entry))
        return EntrySignature(key=self.public.id, signature=made.hex())

    def sign_bytes(self, data: bytes) -> bytes:
        """Sign bytes that say themselves what they are, such as a bundle's envelope.

        Args:
            data: any bytes.

        Returns:
            The signature, 64 bytes.
        """
        return self._private.sign(data)


def make_key(private: str | os.PathLike[str], public: str | os.PathLike[str]) -> PublicKey:
    """Make a key: a new file for its private part, and its public part behind those of others.

    Args:
        private: a file that does not exist.
        public: the file of public keys; it is made where there is none.

    Returns:
        The public part.

    Raises:
        KeyFileError: where a file cannot be written, or `private` is there already.
    """
    made = Ed25519PrivateKey.generate()
    text = made.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    shown = made.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    try:
        _write(private, text, os.O_EXCL, 0o600)
        _write(public, shown, os.O_APPEND, 0o644)
    except OSError as error:
        raise _unusable(error) from None
    return SigningKey(made).public


def _write(path: str | os.PathLike[str], data: bytes, how: int, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | how, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_private(path: str | os.PathLike[str]) -> SigningKey:
    """Read a private key.

    Args:
        path: of a file that only its owner can read (Y3).

    Returns:
        The key.

    Raises:
        KeyFileError: where it cannot be read, others can read it, or it is no Ed25519 key.
    """
    try:
        with Path(path).open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise KeyFileError(f"{path}: others can read it; make it readable by you alone")
            data = file.read(KEY_FILE_BYTES_MAX)
    except OSError as error:
        raise _unusable(error) from None
    block = _PRIVATE.search(data)
    if block is None:
        raise KeyFileError(f"{path}: {_NO_KEY}")
    label = block[1].decode()
    key: object
    try:
        if label == "OPENSSH PRIVATE KEY":
            key = serialization.load_ssh_private_key(data, None)
        else:
            key = _version_2(block[2]) or serialization.load_pem_private_key(data, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileError(f"{path}: {_MENDED.get(label, _NO_KEY)}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"{path}: the key is not an Ed25519 key: eligibility ledger keygen")
    return SigningKey(key)


def _version_2(written: bytes) -> Ed25519PrivateKey | None:
    """Read PKCS #8 of version 2, which has the public part too; None for anything else.

    Raises:
        ValueError: the two parts are of two keys.
    """
    der = base64.b64decode(written)
    found = _VERSION_2.fullmatch(der)
    if found is None or len(der) != der[1] + 2:
        return None
    key = Ed25519PrivateKey.from_private_bytes(found[1])
    public = found[2] or found[3]
    if public is not None and public != key.public_key().public_bytes_raw():
        raise ValueError
    return key


def public_keys(data: bytes) -> tuple[PublicKey, ...]:
    """Read a file of public keys (Y2).

    Args:
        data: its bytes, at most 64 KiB.

    Returns:
        The keys in the order written, at least one.

    Raises:
        KeyFileError: where it holds anything else.
    """
    keys: list[PublicKey] = []
    place = 0
    while len(data) <= KEY_FILE_BYTES_MAX and (block := _PEM.match(data, place)):
        place = block.end()
        try:
            key = (
                serialization.load_pem_public_key(block[1])
                if block[1]
                else serialization.load_ssh_public_key(block[2])
            )
        except (ValueError, UnsupportedAlgorithm):
            break
        if not isinstance(key, Ed25519PublicKey):
            break
        keys.append(PublicKey.of(key.public_bytes_raw()))
    else:
        if keys and not data[place:].strip():
            return tuple(keys)
    raise KeyFileError(
        "the file of public keys holds something that is no Ed25519 key in PEM or of OpenSSH;"
        " write one: openssl pkey -in PRIVATE -pubout"
    )


def _unusable(error: OSError) -> KeyFileError:
    return KeyFileError(f"{error.filename}: {error.strerror}")
