"""The bytes of a source's files: held open, hashed, unpacked (specification 4, 4.1).

Invariants
  O1  A file is opened once. What is hashed and what is read is that open file, not its name.
  O2  A file is hashed before and after it is read, and must be the same file both times.
  O3  A compressed file is unpacked with its checksums verified, and to a limit.
  O4  An error names the source by its base name, never its directory.
"""

import errno
import gzip
import hashlib
import os
import resource
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from eligibility.sql.manifest import SourceFile
from preview.errors import SourceError, TargetError

FileProgress = Callable[[str, int, int], None]

COMPRESSED = (".gz", ".zip", ".zst")
_BLOCK_BYTES = 1024 * 1024
_DESCRIPTORS_SPARE = 256
_DAMAGED = "it is damaged, or not what its name says"


class Held:
    """Source files that are held open while a snapshot is made from them (O1, O2)."""

    def __init__(self, progress: FileProgress) -> None:
        """Hold nothing yet.

        Args:
            progress: as that of `fingerprint`.
        """
        self._progress = progress
        self._files: dict[Path, tuple[int, Fingerprint]] = {}

    def __enter__(self) -> "Held":
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all files."""
        for descriptor, _found in self._files.values():
            os.close(descriptor)

    def hold(self, file: Path) -> None:
        """Open a file, unless it is held already, and hash it.

        Args:
            file: its path.

        Raises:
            SourceError: it cannot be read, is no regular file, or changes meanwhile.
        """
        if file in self._files:
            return
        with reading(file.name):
            _room_for_descriptors(len(self._files))
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise SourceError(f"{file.name}: it is not a regular file")
            found = fingerprint(_descriptor_path(descriptor), self._progress, name=file.name)
        except BaseException:
            os.close(descriptor)
            raise
        self._files[file] = descriptor, found

    def opened(self, file: Path) -> Path:
        """Give the path under which the open file can be opened again."""
        return _descriptor_path(self._files[file][0])

    def hashed(self, file: Path) -> SourceFile:
        """Give what is recorded of a held file."""
        return self._files[file][1].file

    def check(self) -> None:
        """See that every file still is what was hashed, and has its name still (O2).

        Raises:
            SourceError: one is not.
        """
        for file, (descriptor, found) in self._files.items():
            now = fingerprint(_descriptor_path(descriptor), self._progress, name=file.name)
            with reading(file.name):
                named = identity_of(file.stat())
            if now != found or named != found.identity:
                raise SourceError(f"{file.name}: it changed while it was read; pin it again")


def _descriptor_path(descriptor: int) -> Path:
    return Path(f"/dev/fd/{descriptor}")


def _room_for_descriptors(held: int) -> None:
    """Let this process hold as many files as it may, where it needs more than it usually does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if held + _DESCRIPTORS_SPARE > soft and soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells one state of a file from another."""

    identity: tuple[int, ...]
    file: SourceFile


def fingerprint(path: Path, progress: FileProgress, *, name: str | None = None) -> Fingerprint:
    """Hash a file's bytes, and note which file it is.

    Args:
        path: the file.
        progress: called with its base name, the bytes done and the bytes in all.
        name: what it is called where that is not the end of its path.

    Returns:
        Its fingerprint.

    Raises:
        SourceError: it cannot be read, or changes meanwhile.
    """
    name = path.name if name is None else name
    digest = hashlib.sha256()
    block = memoryview(bytearray(_BLOCK_BYTES))
    done = 0
    with reading(name), path.open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        # A file that grows as fast as it is read would never end.
        while done <= before.st_size and (count := file.readinto(block)):
            digest.update(block[:count])
            done += count
            progress(name, done, before.st_size)
        identity = identity_of(os.fstat(file.fileno()))
    if identity != identity_of(before) or done != before.st_size:
        raise SourceError(f"{name}: it changed while it was read")
    return Fingerprint(identity, SourceFile(name=name, size=done, sha256=digest.hexdigest()))


def identity_of(status: os.stat_result) -> tuple[int, ...]:
    """Give what changes when a file is replaced or written; the two times come last."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what can go wrong with a file into an error that names it (O4)."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        EOFError,
        gzip.BadGzipFile,
        zlib.error,
        RuntimeError,
        pa.ArrowException,
    ):
        raise SourceError(f"{name}: {_DAMAGED}") from None
    except OSError as error:
        if error.errno is None:  # pyarrow's, of what it could not decode
            raise SourceError(f"{name}: {_DAMAGED}") from None
        if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise TargetError(f"{name}: there is no room to unpack it") from None
        raise SourceError(f"{name}: {error.strerror or 'it cannot be read'}") from None


def unpacked(path: Path, opened: Path, folder: Path, bytes_max: int) -> Path:
    """Unpack a compressed file into a private folder (O3).

    Args:
        path: of any file; its name says how it is packed.
        opened: under which path it is read.
        folder: an empty folder.
        bytes_max: how large it may become.

    Returns:
        The unpacked file; `opened` itself where it is not compressed.

    Raises:
        SourceError: it is damaged, larger, or a .zip of none or several files.
        TargetError: there is no room for it.
    """
    suffix = path.suffix.lower()
    if suffix not in COMPRESSED:
        return opened
    target = folder / "unpacked"
    with reading(path.name):
        if suffix == ".zip":
            with (
                zipfile.ZipFile(opened) as archive,
                archive.open(zip_member(opened, path.name)) as packed,
            ):
                whole = _copy(packed, target, bytes_max)
        elif suffix == ".gz":
            with gzip.open(opened) as packed:
                whole = _copy(packed, target, bytes_max)
        else:
            with pa.input_stream(str(opened), compression="zstd") as packed:
                whole = _copy(packed, target, bytes_max)
    if not whole:
        raise SourceError(
            f"{path.name}: it unpacks to more than {bytes_max:,} bytes; allow more by --max-bytes"
        )
    return target


def _copy(packed: Any, target: Path, bytes_max: int) -> bool:
    """Write what is unpacked, and say whether that was all of it."""
    left = bytes_max
    with target.open("wb") as file:
        while block := packed.read(_BLOCK_BYTES):
            left -= len(block)
            if left < 0:
                return False
            file.write(block)
    return True


def zip_member(path: Path, name: str) -> zipfile.ZipInfo:
    """Find the one file of a .zip.

    Args:
        path: of the archive.
        name: how errors call it.

    Returns:
        Its one member.

    Raises:
        SourceError: it is damaged, or holds none or several files.
    """
    with reading(name), zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        raise SourceError(f"{name}: it holds {len(members)} files, and one is wanted")
    return members[0]
