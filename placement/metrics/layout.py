"""Where each series has its numbers in a worker's part of the memory."""

import hashlib

from placement.metrics.families import OTHER, Families, Family, FamilyKind


class SeriesLayout:
    """The places of all series, as indexes of numbers.

    Attributes: `width` is how many numbers there are; `digest` differs for different layouts.
    """

    def __init__(self, families: Families) -> None:
        self.families = families
        self._begin: dict[str, int] = {}
        self._count: dict[str, int] = {}
        self.width = 0
        for family in families:
            self._begin[family.name] = self.width
            count = 1
            for _, values in family.labels:
                count *= len(values) + 1
            self._count[family.name] = count
            self.width += count * family.width
        described = repr([*families]).encode()
        self.digest = hashlib.sha256(described).hexdigest()[:16]

    def at(self, family: Family, *values: str) -> int:
        """Return where the first number of a series is; a value that isn't listed is `other`."""
        index = 0
        for (_, known), value in zip(family.labels, values, strict=True):
            place = known.index(value) if value in known else len(known)
            index = index * (len(known) + 1) + place
        return self._begin[family.name] + index * family.width

    def part(self, family: Family) -> slice:
        """Return where the numbers of all series of a family are, one series after the other."""
        begin = self._begin[family.name]
        return slice(begin, begin + self._count[family.name] * family.width)

    def labels(self, family: Family, number: int) -> list[str]:
        """Return the values of the labels of a family's series with this number."""
        found: list[str] = []
        for _, values in reversed(family.labels):
            number, place = divmod(number, len(values) + 1)
            found.insert(0, values[place] if place < len(values) else OTHER)
        return found

    def of_gauges(self) -> list[int]:
        """Return the places of all gauges."""
        parts = [self.part(family) for family in self.families if family.kind is FamilyKind.GAUGE]
        return [at for part in parts for at in range(part.start, part.stop)]
