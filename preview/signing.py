"""Ed25519 keys: made, kept in files, and used to sign entries and bundles.

Invariants
  Y1  A private key is written to a new file that only its owner can read, and is read from no
      other kind of file.
  Y2  A file of public keys holds PEM blocks, one after another: every key that was ever used. A
      key is retired by signing with a newer one, and disowned by taking it out of the file.
"""

import os
import re
import stat
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from eligibility.record import EntrySignature, PublicKey, signed_text
from preview.errors import KeyFileError

KEY_FILE_BYTES_MAX = 64 * 1024
_PEM = re.compile(
    rb"\s*(-----BEGIN PUBLIC KEY-----\r?\n[A-Za-z0-9+/=\r\n]+-----END PUBLIC KEY-----)"
)


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
        path: of a PEM file that only its owner can read.

    Returns:
        The key.

    Raises:
        KeyFileError: where it cannot be read, others can read it, or it is no Ed25519 key.
    """
    try:
        with Path(path).open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise KeyFileError(f"{path}: others can read it; make it readable by you alone")
            key = serialization.load_pem_private_key(file.read(KEY_FILE_BYTES_MAX), None)
    except OSError as error:
        raise _unusable(error) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileError(f"{path}: it holds no private key in PEM without a password") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"{path}: the key is not an Ed25519 key")
    return SigningKey(key)


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
            key = serialization.load_pem_public_key(block[1])
        except (ValueError, UnsupportedAlgorithm):
            break
        if not isinstance(key, Ed25519PublicKey):
            break
        keys.append(PublicKey.of(key.public_bytes_raw()))
    else:
        if keys and not data[place:].strip():
            return tuple(keys)
    raise KeyFileError("the file of public keys holds something that is no Ed25519 key in PEM")


def _unusable(error: OSError) -> KeyFileError:
    return KeyFileError(f"{error.filename}: {error.strerror}")
