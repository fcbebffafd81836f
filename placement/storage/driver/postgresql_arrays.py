"""Columns of PostgreSQL's tables as arrays of numpy.

The server sends the numbers of some thousand rows as one array, in the form in which memory has
them. So no value becomes an object of Python, and other threads can run.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from psycopg import RawCursor
from psycopg.adapt import Buffer, Loader
from psycopg.pq import Format

from placement.storage.uuid_rows import LENGTH

#: bytes before the elements: numbers of dimensions and of flags, type, length, first place
_HEADER = 20


class _Array(Loader):
    """Reads an array without NULL, whose elements are all of the same length."""

    format = Format.BINARY
    element: np.dtype[Any]
    kind: type[np.generic]

    def load(self, data: Buffer) -> object:
        elements = np.frombuffer(data, self.element, offset=_HEADER)["value"]
        return elements.astype(self.kind)


class _Integers(_Array):
    element = np.dtype([("length", ">i4"), ("value", ">i8")])
    kind = np.int64


class _Floats(_Array):
    element = np.dtype([("length", ">i4"), ("value", ">f8")])
    kind = np.float64


class _Uuids(_Array):
    element = np.dtype([("length", ">i4"), ("value", "u1", (LENGTH,))])
    kind = np.uint8


#: by PostgreSQL's numbers of the types int8[], float8[] and text[]
_LOADERS = {1016: _Integers, 1022: _Floats, 1009: _Uuids}


def read(connection: object, text: str, values: Sequence[object]) -> tuple[object, ...]:
    """Return the only row that a statement finds; its arrays are numpy's.

    :param connection: psycopg's
    """
    cursor = RawCursor(connection)
    for number, loader in _LOADERS.items():
        cursor.adapters.register_loader(number, loader)
    cursor.execute(text, values, binary=True)
    (row,) = cursor.fetchall()
    return row
