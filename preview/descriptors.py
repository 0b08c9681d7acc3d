"""Which files a process has open, whatever their paths lead to by now (specification 4, 5).

A path may lead to one file when it is opened and to another when it is looked at. So what was
verified is compared with what is open, by descriptor.
"""

import os
import stat
from pathlib import Path

Identity = tuple[int, ...]

_OPEN = next(
    (folder for folder in (Path("/proc/self/fd"), Path("/dev/fd")) if folder.is_dir()), None
)


def identity_of(status: os.stat_result) -> Identity:
    """Give what changes when a file is replaced or written: device, inode, size, both times."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def path_of(descriptor: int) -> str:
    """Give a path that leads to an open file, whatever is renamed.

    Args:
        descriptor: of the file.

    Returns:
        An absolute path.

    Raises:
        OSError: this system does not show which files are open.
    """
    return str(_folder() / str(descriptor))


def files_open() -> dict[int, Identity]:
    """Give the regular files that this process has open.

    Returns:
        Descriptor to identity.

    Raises:
        OSError: this system does not show which files are open.
    """
    found = {}
    for entry in os.listdir(_folder()):  # noqa: PTH208 - the names are all that is wanted
        try:
            status = os.fstat(int(entry))
        except OSError:
            continue  # that of the listing itself
        if stat.S_ISREG(status.st_mode):
            found[int(entry)] = identity_of(status)
    return found


def _folder() -> Path:
    if _OPEN is None:
        raise OSError("this system does not show which files a process has open")
    return _OPEN
