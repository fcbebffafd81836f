"""The file system that guests' disks are on, and the image cache there."""

import os
from pathlib import Path

from virt.node.facts import DiskSpace, HostFactsError

GIB = 1024**3
#: of st_blocks, on any file system
BLOCK = 512


def disk_space(path: str | os.PathLike[str]) -> DiskSpace:
    """Return the size of the file system that holds `path`, rounded down.

    A path that doesn't exist yet counts as its nearest ancestor that does: it will be made there.
    Raises HostFactsError if the file system can't be read.
    """
    try:
        found = os.statvfs(_nearest_existing(Path(path)))
    except OSError as error:
        raise HostFactsError(path, error.strerror or str(error)) from error
    return DiskSpace(
        total_gb=found.f_blocks * found.f_frsize // GIB,
        free_gb=found.f_bavail * found.f_frsize // GIB,
    )


def image_cache_gb(directory: str | os.PathLike[str]) -> int:
    """Return what the image cache, the files of `directory`, takes of the disk, rounded up.

    Raises HostFactsError if it is unreadable.
    """
    size = 0
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                try:
                    if entry.is_file(follow_symlinks=False):
                        size += entry.stat(follow_symlinks=False).st_blocks * BLOCK
                except FileNotFoundError:
                    continue  # an image that was just evicted
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise HostFactsError(directory, error.strerror or str(error)) from error
    return -(-size // GIB)


def _nearest_existing(path: Path) -> Path:
    return next((one for one in (path, *path.absolute().parents) if one.exists()), path)
