"""The uuids of providers as rows of bytes, for texts that are made a table at a time."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

#: how long a uuid is in its usual spelling
LENGTH = 36


@dataclasses.dataclass(frozen=True, eq=False)
class UuidTable:
    """Uuids by slot.

    :param rows: a row of `LENGTH` bytes each
    :param even: whether all are of the usual length; the rows of the others are of no use
    """

    rows: npt.NDArray[np.uint8]
    even: bool = True

    @classmethod
    def of(cls, uuids: Sequence[str]) -> "UuidTable":
        """Build the table from uuids in the order of their slots."""
        texts = [uuid.encode() for uuid in uuids]
        even = all(len(text) == LENGTH for text in texts)
        if not even:
            texts = [text[:LENGTH].ljust(LENGTH) for text in texts]
        return cls(np.frombuffer(b"".join(texts), np.uint8).reshape(-1, LENGTH), even)

    def with_more(self, uuids: Sequence[str]) -> "UuidTable":
        """Return the table with the uuids of the next slots."""
        more = UuidTable.of(uuids)
        return UuidTable(np.concatenate([self.rows, more.rows]), self.even and more.even)
