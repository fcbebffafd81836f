"""Candidates as JSON text (allocation-candidates.md 5).

Written as text because the parts are ready: a provider's summary is kept with the snapshot, and all
that differs between the candidates of equal trees is uuids. Blanks stand where `json.dumps` has
them.
"""

import collections
import dataclasses
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from placement.candidates.problem import Shape
from placement.candidates.search import Found
from placement.candidates.summaries import Summaries
from placement.candidates.trees import Tree
from placement.microversions import Version

ALLOCATIONS_BY_PROVIDER: Version = (1, 12)
NESTED: Version = (1, 29)
MAPPINGS: Version = (1, 34)

#: stands for the uuid of a local
_HOLE = re.compile("\0(\\d+)\0")


def body(found: Found, version: Version) -> str:
    """The whole answer as the version shows it."""
    if not len(found) or found.shape is None:
        return '{"allocation_requests": [], "provider_summaries": {}}'
    texts, used, roots = _Candidates(found, version).write()
    if found.shuffle is not None:
        found.shuffle.shuffle(texts)
    summaries = Summaries(found.snapshot, version, _classes(found))
    shown = summaries.of_trees(roots) if version >= NESTED else summaries.of_providers(used)
    return f'{{"allocation_requests": [{", ".join(texts)}], "provider_summaries": {{{shown}}}}}'


def _classes(found: Found) -> frozenset[str]:
    return frozenset(name for group in found.request.groups for name in group.resources)


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """One solution as text with a hole for each uuid.

    :param form: for the % operator
    :param fillers: the local whose uuid goes into each hole
    :param used: the locals that give something
    """

    form: str
    fillers: tuple[int, ...]
    used: tuple[int, ...]


class _Candidates:
    """Writes the candidates of one answer."""

    def __init__(self, found: Found, version: Version) -> None:
        assert found.shape is not None
        self._found = found
        self._uuids = found.snapshot.register.uuids
        self._root = found.snapshot.forest.root
        self._writer = SolutionWriter(found.shape, found.snapshot.names.classes, version)

    def write(self) -> tuple[list[str], list[int], list[int]]:
        """The candidates, the providers they use and the roots of those, without repetitions."""
        texts, simple = self._simple()
        used = dict.fromkeys(simple)
        roots = dict.fromkeys(simple)
        root_of = self._root
        uuids = self._uuids
        for tree, number in self._found.others:
            template = tree.solved.templates.get(number)
            if template is None:
                if tree.solved.trees == 1:
                    text, giving = self._directly(tree, number)
                    texts.append(text)
                    used.update(dict.fromkeys(giving))
                    continue
                template = tree.solved.templates[number] = self._template(tree, number)
            slots = tree.slots
            texts.append(template.form % tuple([uuids[slots[n]] for n in template.fillers]))
            for local in template.used:
                used[slots[local]] = None
        if self._found.others:
            for slot in used:
                roots[int(root_of[slot])] = None
        return texts, list(used), list(roots)

    def _simple(self) -> tuple[list[str], list[int]]:
        """Candidates of one provider that is a tree by itself: all alike but for the uuid."""
        slots = self._found.simple.tolist()
        if not slots:
            return [], []
        assert self._found.shape is not None
        text = self._writer.write([0] * len(self._found.shape.variables), ["\0000\0"])
        pieces = _HOLE.split(text)[::2]
        uuids = self._uuids
        return [uuids[slot].join(pieces) for slot in slots], slots

    def _directly(self, tree: Tree, number: int) -> tuple[str, list[int]]:
        """A candidate of a tree that has no equal, so that a template would be used once."""
        solution = tree.solved.at(number)
        assert solution is not None
        uuids = [self._uuids[slot] for slot in tree.slots]
        used = [tree.slots[local] for local in self._writer.used(solution)]
        return self._writer.write(solution, uuids), used

    def _template(self, tree: Tree, number: int) -> Template:
        solution = tree.solved.at(number)
        assert solution is not None
        holes = [f"\0{local}\0" for local in range(len(tree.slots))]
        pieces = _HOLE.split(self._writer.write(solution, holes))
        fillers = tuple(int(piece) for piece in pieces[1::2])
        return Template("%s".join(pieces[::2]), fillers, tuple(self._writer.used(solution)))


class SolutionWriter:
    """Writes one candidate, given the uuid of each local."""

    def __init__(self, shape: Shape, classes: Mapping[int, str], version: Version) -> None:
        self._demands = [
            [(classes[key], amount) for key, amount in variable.demand]
            for variable in shape.variables
        ]
        self._giving = [number for number, demand in enumerate(self._demands) if demand]
        self._by_provider = version >= ALLOCATIONS_BY_PROVIDER
        self._mapped = version >= MAPPINGS
        self._suffixes = [json.dumps(variable.suffix) for variable in shape.variables]
        self._suffixed = [bool(variable.suffix) for variable in shape.variables]
        self._unsuffixed = [n for n, suffixed in enumerate(self._suffixed) if not suffixed]
        self._resources: dict[tuple[int, ...], str] = {}

    def used(self, solution: Sequence[int]) -> Iterable[int]:
        """The locals that give something."""
        return dict.fromkeys(solution[number] for number in self._giving)

    def write(self, solution: Sequence[int], uuids: Sequence[str]) -> str:
        """The candidate as JSON."""
        giving: dict[int, list[int]] = collections.defaultdict(list)
        for number in self._giving:
            giving[solution[number]].append(number)
        if self._by_provider:
            parts = [
                f'"{uuids[local]}": {{"resources": {self._summed(numbers)}}}'
                for local, numbers in giving.items()
            ]
            text = f'{{"allocations": {{{", ".join(parts)}}}'
        else:
            parts = [
                f'{{"resource_provider": {{"uuid": "{uuids[local]}"}}, '
                f'"resources": {self._summed(numbers)}}}'
                for local, numbers in giving.items()
            ]
            text = f'{{"allocations": [{", ".join(parts)}]'
        if self._mapped:
            text += f', "mappings": {{{", ".join(self._mappings(solution, uuids))}}}'
        return text + "}"

    def _summed(self, numbers: list[int]) -> str:
        """What the variables together take, as a JSON object."""
        key = tuple(numbers)
        text = self._resources.get(key)
        if text is None:
            amounts: collections.Counter[str] = collections.Counter()
            for name, amount in itertools.chain(*(self._demands[number] for number in numbers)):
                amounts[name] += amount
            text = json.dumps(amounts)
            if len(self._resources) < _MOST_SUMS:
                self._resources[key] = text
        return text

    def _mappings(self, solution: Sequence[int], uuids: Sequence[str]) -> list[str]:
        texts = [
            f'{suffix}: ["{uuids[local]}"]'
            for suffix, local, suffixed in zip(
                self._suffixes, solution, self._suffixed, strict=True
            )
            if suffixed
        ]
        if self._unsuffixed:
            chosen = dict.fromkeys(solution[number] for number in self._unsuffixed)
            quoted = ", ".join(f'"{uuids[local]}"' for local in chosen)
            texts.insert(0, f'"": [{quoted}]')
        return texts


#: bounds the memory of one answer
_MOST_SUMS = 10_000
