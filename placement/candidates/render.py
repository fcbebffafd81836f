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
    candidates = _Candidates(found, version)
    texts = candidates.write()
    if found.shuffle is not None:
        found.shuffle.shuffle(texts)
    summaries = Summaries(found.snapshot, version, _classes(found))
    if version >= NESTED:
        shown = summaries.of_trees(list(candidates.roots))
    else:
        shown = summaries.of_providers(list(candidates.used))
    return "".join(
        ('{"allocation_requests": [', ", ".join(texts), '], "provider_summaries": {', shown, "}}")
    )


def _classes(found: Found) -> frozenset[str]:
    return frozenset(name for group in found.request.groups for name in group.resources)


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """One solution as text with a hole for each uuid of the tree at hand.

    :param form: for the % operator
    :param fillers: where in the tree the provider stands whose uuid goes into each hole
    :param used: where in the tree those stand that give something
    :param lent: the providers of other trees that give something
    """

    form: str
    fillers: tuple[int, ...]
    used: tuple[int, ...]
    lent: tuple[int, ...]


class _Candidates:
    """Writes the candidates of one answer.

    :ivar used: after `write` the providers that give something
    :ivar roots: the roots of those
    """

    def __init__(self, found: Found, version: Version) -> None:
        assert found.shape is not None
        self._found = found
        self._uuids = found.snapshot.register.uuids
        self._writer = SolutionWriter(found.shape, found.snapshot.names.classes, version)
        self.used: dict[int, None] = {}
        self.roots: dict[int, None] = {}

    def write(self) -> list[str]:
        """Each candidate as JSON."""
        texts = self._simple()
        uuids, roots, used = self._uuids, self.roots, self.used
        for tree, number in self._found.others:
            template = tree.solved.templates.get(number)
            if template is None:
                if tree.solved.trees == 1:
                    texts.append(self._directly(tree, number))
                    continue
                template = tree.solved.templates[number] = self._template(tree, number)
            members = tree.members
            texts.append(template.form % tuple([uuids[members[n]] for n in template.fillers]))
            if template.used:
                roots[tree.root] = None
            for place in template.used:
                used[members[place]] = None
            if template.lent:
                self._note(template.lent)
        return texts

    def _note(self, slots: Iterable[int]) -> None:
        root = self._found.snapshot.forest.root
        for slot in slots:
            self.used[slot] = None
            self.roots[int(root[slot])] = None

    def _simple(self) -> list[str]:
        """Candidates of one provider that is a tree by itself: all alike but for the uuid."""
        slots = self._found.simple.tolist()
        if not slots:
            return []
        assert self._found.shape is not None
        self.used = dict.fromkeys(slots)
        self.roots = self.used if not self._found.others else dict(self.used)
        solution = [0] * len(self._found.shape.variables)
        pieces = _HOLE.split(self._writer.write(solution, ["\0000\0"]))[::2]
        uuids = self._uuids
        return [uuids[slot].join(pieces) for slot in slots]

    def _directly(self, tree: Tree, number: int) -> str:
        """A candidate of a tree that has no equal, so that a template would be used once."""
        solution = tree.solved.at(number)
        assert solution is not None
        slots, own = tree.slots(), len(tree.solved.places)
        used = self._writer.used(solution)
        if min(used) < own:
            self.roots[tree.root] = None
        self._note([slots[local] for local in used if local >= own])
        self.used.update(dict.fromkeys([slots[local] for local in used]))
        return self._writer.write(solution, [self._uuids[slot] for slot in slots])

    def _template(self, tree: Tree, number: int) -> Template:
        solved = tree.solved
        solution = solved.at(number)
        assert solution is not None
        own = len(solved.places)
        names = [f"\0{place}\0" for place in solved.places]
        names += [self._uuids[slot] for slot in solved.lent]
        pieces = _HOLE.split(self._writer.write(solution, names))
        used = self._writer.used(solution)
        return Template(
            "%s".join(pieces[::2]),
            tuple(int(piece) for piece in pieces[1::2]),
            tuple(solved.places[local] for local in used if local < own),
            tuple(solved.lent[local - own] for local in used if local >= own),
        )


class SolutionWriter:
    """Writes one candidate, given the uuid of each local."""

    def __init__(self, shape: Shape, classes: Mapping[int, str], version: Version) -> None:
        self._demands = [
            [(classes[key], amount) for key, amount in variable.demand]
            for variable in shape.variables
        ]
        self._alone = [json.dumps(dict(demand)) for demand in self._demands]
        self._giving = [number for number, demand in enumerate(self._demands) if demand]
        self._by_provider = version >= ALLOCATIONS_BY_PROVIDER
        self._mapped = version >= MAPPINGS
        self._unsuffixed = [n for n, v in enumerate(shape.variables) if not v.suffix]
        self._suffixed = [
            (n, f'{json.dumps(v.suffix)}: ["') for n, v in enumerate(shape.variables) if v.suffix
        ]
        self._sums: dict[tuple[int, ...], str] = {}

    def used(self, solution: Sequence[int]) -> list[int]:
        """The locals that give something."""
        return list(dict.fromkeys([solution[number] for number in self._giving]))

    def write(self, solution: Sequence[int], uuids: Sequence[str]) -> str:
        """The candidate as JSON."""
        giving: dict[int, list[int]] = {}
        for number in self._giving:
            local = solution[number]
            if local in giving:
                giving[local].append(number)
            else:
                giving[local] = [number]
        alone = self._alone
        taken = [
            (uuids[local], alone[numbers[0]] if len(numbers) == 1 else self._summed(numbers))
            for local, numbers in giving.items()
        ]
        if self._by_provider:
            parts = [f'"{uuid}": {{"resources": {resources}}}' for uuid, resources in taken]
            text = f'{{"allocations": {{{", ".join(parts)}}}'
        else:
            parts = [
                f'{{"resource_provider": {{"uuid": "{uuid}"}}, "resources": {resources}}}'
                for uuid, resources in taken
            ]
            text = f'{{"allocations": [{", ".join(parts)}]'
        if self._mapped:
            text += f', "mappings": {{{self._mappings(solution, uuids)}}}'
        return text + "}"

    def _summed(self, numbers: list[int]) -> str:
        """What the variables together take, as a JSON object."""
        key = tuple(numbers)
        text = self._sums.get(key)
        if text is None:
            amounts: collections.Counter[str] = collections.Counter()
            for name, amount in itertools.chain(*(self._demands[number] for number in numbers)):
                amounts[name] += amount
            text = json.dumps(amounts)
            if len(self._sums) < _MOST_SUMS:
                self._sums[key] = text
        return text

    def _mappings(self, solution: Sequence[int], uuids: Sequence[str]) -> str:
        texts = [f'{head}{uuids[solution[n]]}"]' for n, head in self._suffixed]
        if self._unsuffixed:
            chosen = dict.fromkeys([solution[number] for number in self._unsuffixed])
            quoted = ", ".join([f'"{uuids[local]}"' for local in chosen])
            texts.insert(0, f'"": [{quoted}]')
        return ", ".join(texts)


#: bounds the memory of one answer
_MOST_SUMS = 10_000
