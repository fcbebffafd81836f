"""Uuids as rows of bytes: a table of them takes little memory, and is compared as a whole."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: how long a uuid is in its usual spelling
LENGTH = 36

Rows = npt.NDArray[np.uint8]


class Uuids(NamedTuple):
    """Some uuids.

    :param rows: `LENGTH` bytes each
    :param odd: the uuids that are not of the usual length, by index; their rows mean nothing
    """

    rows: Rows
    odd: Mapping[int, str]


def uuid_rows(uuids: Sequence[str]) -> Uuids:
    """Return texts as rows."""
    texts = [uuid.encode() for uuid in uuids]
    odd = {place: uuids[place] for place, text in enumerate(texts) if len(text) != LENGTH}
    for place in odd:
        texts[place] = texts[place][:LENGTH].ljust(LENGTH)
    return Uuids(np.frombuffer(b"".join(texts), np.uint8).reshape(-1, LENGTH), odd)
