"""Memory that the workers of a service share: each has a slot, and anyone adds up all slots.

A slot belongs to the process that has a lock on its byte of the file. The system releases the lock
when the process ends, however it ends. The next process goes on with the numbers of that slot, so
counters never fall, and nothing of dead processes piles up.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import struct
import weakref
import zlib
from collections.abc import Iterator, MutableSequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Numbers: TypeAlias = "npt.NDArray[np.float64]"
Cells = MutableSequence[float]

#: most processes that count at the same time, those that are being replaced included
MOST = 500
#: bytes of a number, and at the beginning of the memory: which slots were ever taken, and, from
#: some byte on, what one process tells the others
_NUMBER = 8
_HEAD, _BOARD = 4096, 512
#: bytes of a slot's text, with the text's length and checksum before it
_TEXT = 32 * 1024
_TEXT_HEAD = struct.Struct("<II")
LONGEST_TEXT = _TEXT - _TEXT_HEAD.size
#: how often a text is read that is being written meanwhile
_TRIES = 100
#: `struct flock`: type, whence, start, length, process
_LOCK = "hhqqi4x"


class NoSlot(Exception):
    """All slots are taken."""

    def __init__(self) -> None:
        super().__init__(f"{MOST} processes count already")


class _Memory:
    """The memory, mapped into a process until no object there refers to it any more.

    The constructor raises OSError if the memory can't be mapped.

    :param width: how many numbers a slot has
    :param file: its file descriptor, which is closed with it
    """

    def __init__(self, width: int, file: int) -> None:
        self.file = file
        # not at exit: threads may use the file until the process ends, which closes it anyway
        weakref.finalize(self, os.close, file).atexit = False
        texts = _HEAD + MOST * width * _NUMBER
        size = texts + MOST * _TEXT
        if os.fstat(file).st_size < size:
            os.ftruncate(file, size)
        # Space is reserved first: a write to mapped memory that the disk has no room for kills the
        # process.
        os.posix_fallocate(file, 0, _HEAD)
        # its views keep the map, which has a file descriptor of its own
        whole = memoryview(mmap.mmap(file, size))
        self.taken = whole[:MOST]
        self.board = whole[_BOARD:_HEAD].cast("d")
        self.cells = whole[_HEAD:texts].cast("d")
        self.texts = whole[texts:size]
        self.texts_begin = texts

    def end(self) -> int:
        """Return how many slots were ever taken, with the gaps between them."""
        return bytes(self.taken).rfind(1) + 1

    def text(self, number: int) -> "memoryview[int]":
        """Return the memory of a slot's text."""
        return self.texts[number * _TEXT : (number + 1) * _TEXT]

    def is_locked(self, number: int) -> bool:
        """Return whether a slot has a process that lives."""
        # the descriptor of this object has no locks, so it sees those of this process, too
        asked = fcntl.fcntl(self.file, fcntl.F_OFD_GETLK, _lock(fcntl.F_WRLCK, number))
        return bool(struct.unpack(_LOCK, asked)[0] != fcntl.F_UNLCK)


class Slots:
    """The slots of all processes of a service.

    Slots that were never taken need no space, so the memory can have room for many. The constructor
    raises OSError if the memory can't be mapped.

    :param width: how many numbers a slot has
    :param file: a file descriptor of the memory, which is closed with the slots
    """

    def __init__(self, width: int, file: int) -> None:
        self.width = width
        # each method reads the attribute once, because another thread may close the slots meanwhile
        self._memory: _Memory | None = _Memory(width, file)

    @classmethod
    def anonymous(cls, width: int) -> "Slots":
        """Make slots for this process and those that it forks. Raises OSError."""
        return cls(width, os.memfd_create("berth-metrics", os.MFD_CLOEXEC))

    @classmethod
    def in_folder(cls, folder: Path, width: int, digest: str) -> "Slots":
        """Make slots for all processes of one user that name the folder. Raises OSError.

        :param digest: names the layout; processes of another layout have another file
        """
        path = folder / f"berth-placement-{digest}.metrics"
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(path, flags, 0o600)
        # The owner of a file may shorten it, and a process that writes beyond its end is killed. So
        # the file must be our own.
        if os.fstat(file).st_uid != os.geteuid():
            os.close(file)
            raise PermissionError(errno.EPERM, "The file belongs to another user", str(path))
        return cls(width, file)

    def close(self) -> None:
        """End the memory in this process, as soon as nobody uses it: there are no slots then."""
        self._memory = None

    def board(self) -> Cells:
        """Return numbers of all processes together, 0 at the beginning; none once it is closed."""
        memory = self._memory
        return [] if memory is None else cast(Cells, memory.board)

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Say whether this block runs in this process alone; if not, another one runs it.

        A process that ends, however it ends, leaves it to others. Raises OSError.
        """
        memory = self._memory
        if memory is None:
            yield False
            return
        file = os.open(f"/proc/self/fd/{memory.file}", os.O_RDWR | os.O_CLOEXEC)
        try:
            try:
                # the byte behind those of the slots
                fcntl.fcntl(file, fcntl.F_OFD_SETLK, _lock(fcntl.F_WRLCK, MOST))
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(file)

    def claim(self) -> "Slot":
        """Take a slot for this process. Raises NoSlot, or OSError."""
        memory = self._memory
        if memory is None:
            raise OSError(errno.EBADF, "The memory is closed")
        # A descriptor of its own, because the lock belongs to it. It is opened through /proc, since
        # the path of a deleted file leads to another one.
        file = os.open(f"/proc/self/fd/{memory.file}", os.O_RDWR | os.O_CLOEXEC)
        try:
            number = self._first_free(file)
            length = self.width * _NUMBER
            os.posix_fallocate(file, _HEAD + number * length, length)
            os.posix_fallocate(file, memory.texts_begin + number * _TEXT, _TEXT)
        except BaseException:
            os.close(file)
            raise
        memory.taken[number] = 1
        begin = number * self.width
        cells = memory.cells[begin : begin + self.width]
        return Slot(number, file, cells, memory.text(number))

    def _first_free(self, file: int) -> int:
        """Lock the first free slot, and return its number."""
        for number in range(MOST):
            try:
                fcntl.fcntl(file, fcntl.F_OFD_SETLK, _lock(fcntl.F_WRLCK, number))
            except BlockingIOError:
                continue
            return number
        raise NoSlot()

    def ever(self) -> Numbers:
        """Return the numbers of all slots that ever had a process, a row each; for reading only."""
        memory = self._memory
        # processes take the first slot that is free, so there are hardly any gaps
        end = 0 if memory is None else memory.end()
        cells = b"" if memory is None else memory.cells[: end * self.width]
        return _numbers(cells).reshape(end, self.width)

    def texts(self) -> list[bytes]:
        """Return the texts of all slots that ever had a process."""
        memory = self._memory
        return [] if memory is None else [_text(memory.text(n)) for n in range(memory.end())]

    def living(self) -> list[int]:
        """Return which of these rows have a process that lives."""
        memory = self._memory
        if memory is None:
            return []
        return [number for number in range(memory.end()) if memory.is_locked(number)]


class Slot:
    """One process's numbers.

    :param file: the file descriptor with the lock, which is closed with the slot
    """

    def __init__(
        self, number: int, file: int, cells: "memoryview[float]", text: "memoryview[int]"
    ) -> None:
        self.number = number
        self._text = text
        self._close = weakref.finalize(self, os.close, file)
        self._close.atexit = False
        #: the numbers as Python's: for single numbers quicker than `numbers`
        self.cells = cast(Cells, cells)

    @property
    def numbers(self) -> Numbers:
        """The same memory as `cells`."""
        return _numbers(self.cells)

    @property
    def text(self) -> bytes:
        """The text that the process of this slot, or the one before it, has written."""
        return _text(self._text)

    def write(self, text: bytes) -> None:
        """Write a text of at most LONGEST_TEXT bytes, for every process to read."""
        head = _TEXT_HEAD.size
        self._text[head : head + len(text)] = text
        self._text[:head] = _TEXT_HEAD.pack(len(text), zlib.crc32(text))

    def release(self) -> None:
        """Leave the slot to another process."""
        self._close()


def _text(memory: "memoryview[int]") -> bytes:
    """Return a text; none if the process ended while it wrote one."""
    head = _TEXT_HEAD.size
    for _ in range(_TRIES):
        length, checksum = _TEXT_HEAD.unpack(memory[:head])
        text = bytes(memory[head : head + length])
        if len(text) == length and zlib.crc32(text) == checksum:
            return text
    return b""


def _numbers(cells: object) -> Numbers:
    # imported here because a process that counts doesn't need it until somebody wants the sums
    import numpy as np

    return np.frombuffer(cast(memoryview, cells), np.float64)


def _lock(kind: int, number: int) -> bytes:
    return struct.pack(_LOCK, kind, os.SEEK_SET, number, 1, 0)
