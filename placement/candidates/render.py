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

    :ivar used: after `write` the providers that give something, where they matter
    :ivar roots: the roots of those, where they matter
    """

    def __init__(self, found: Found, version: Version) -> None:
        assert found.shape is not None
        self._found = found
        self._uuids = found.snapshot.register.uuids
        self._writer = SolutionWriter(found.shape, found.snapshot.names.classes, version)
        self._of_trees = version >= NESTED
        self._bound: dict[int, BoundWriter] = {}
        self.used: dict[int, None] = {}
        self.roots: dict[int, None] = {}

    def write(self) -> list[str]:
        """Each candidate as JSON."""
        texts = self._simple()
        uuids, roots, of_trees = self._uuids, self.roots, self._of_trees
        for tree, number in self._found.others:
            solved = tree.solved
            template = solved.templates.get(number)
            if template is None:
                if solved.trees == 1:
                    texts.append(self._directly(tree, number))
                    continue
                template = solved.templates[number] = self._template(tree, number)
            members = tree.members
            texts.append(template.form % tuple([uuids[members[n]] for n in template.fillers]))
            if of_trees:
                if template.used:
                    roots[tree.root] = None
            else:
                self.used.update(dict.fromkeys([members[place] for place in template.used]))
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
        pieces = _HOLE.split(self._writer.bound(["\0000\0"]).write(solution))[::2]
        uuids = self._uuids
        return [uuids[slot].join(pieces) for slot in slots]

    def _directly(self, tree: Tree, number: int) -> str:
        """A candidate of a tree that has no equal, so that a template would be used once."""
        solution = tree.solved.at(number)
        assert solution is not None
        bound = self._bound.get(tree.root)
        if bound is None:
            uuids = [self._uuids[slot] for slot in tree.slots()]
            bound = self._bound[tree.root] = self._writer.bound(uuids)
        if tree.solved.lent or not self._of_trees:
            slots = tree.slots()
            self._note([slots[local] for local in self._writer.used(solution)])
        else:
            self.roots[tree.root] = None
        return bound.write(solution)

    def _template(self, tree: Tree, number: int) -> Template:
        solved = tree.solved
        solution = solved.at(number)
        assert solution is not None
        own = len(solved.places)
        names = [f"\0{place}\0" for place in solved.places]
        names += [self._uuids[slot] for slot in solved.lent]
        pieces = _HOLE.split(self._writer.bound(names).write(solution))
        used = self._writer.used(solution)
        return Template(
            "%s".join(pieces[::2]),
            tuple(int(piece) for piece in pieces[1::2]),
            tuple(solved.places[local] for local in used if local < own),
            tuple(solved.lent[local - own] for local in used if local >= own),
        )


class SolutionWriter:
    """How the version at hand writes candidates of a shape."""

    def __init__(self, shape: Shape, classes: Mapping[int, str], version: Version) -> None:
        self._demands = [
            [(classes[key], amount) for key, amount in variable.demand]
            for variable in shape.variables
        ]
        self.alone = [json.dumps(dict(demand)) for demand in self._demands]
        self.giving = [number for number, demand in enumerate(self._demands) if demand]
        self.mapped = version >= MAPPINGS
        self.unsuffixed = [n for n, v in enumerate(shape.variables) if not v.suffix]
        self.suffixed = [
            (n, f'{json.dumps(v.suffix)}: ["') for n, v in enumerate(shape.variables) if v.suffix
        ]
        if version >= ALLOCATIONS_BY_PROVIDER:
            self.frame = ('{"allocations": {', "}")
            self.entry = '"%s": {"resources": %s}'
        else:
            self.frame = ('{"allocations": [', "]")
            self.entry = '{"resource_provider": {"uuid": "%s"}, "resources": %s}'
        self._sums: dict[tuple[int, ...], str] = {}

    def bound(self, uuids: Sequence[str]) -> "BoundWriter":
        """A writer of candidates whose locals have these uuids."""
        return BoundWriter(self, uuids)

    def used(self, solution: Sequence[int]) -> list[int]:
        """The locals that give something."""
        return list(dict.fromkeys([solution[number] for number in self.giving]))

    def summed(self, numbers: list[int]) -> str:
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


class BoundWriter:
    """Writes the candidates of one tree, from parts that are ready for each of its providers."""

    def __init__(self, writer: SolutionWriter, uuids: Sequence[str]) -> None:
        self._writer = writer
        self._uuids = uuids
        entries = {
            text: [writer.entry % (uuid, text) for uuid in uuids] for text in set(writer.alone)
        }
        #: (variable, its allocation by local), (variable, its mapping by local)
        self._gives = [(n, entries[writer.alone[n]]) for n in writer.giving]
        self._maps = [(n, [f'{head}{uuid}"]' for uuid in uuids]) for n, head in writer.suffixed]

    def write(self, solution: Sequence[int]) -> str:
        """The candidate as JSON."""
        writer = self._writer
        chosen = [solution[n] for n in writer.giving]
        if len(set(chosen)) == len(chosen):
            parts = [entries[solution[n]] for n, entries in self._gives]
        else:
            parts = self._shared(solution)
        begin, end = writer.frame
        text = f"{begin}{', '.join(parts)}{end}"
        if not writer.mapped:
            return text + "}"
        mapped = [mappings[solution[n]] for n, mappings in self._maps]
        if writer.unsuffixed:
            used = dict.fromkeys([solution[n] for n in writer.unsuffixed])
            quoted = ", ".join([f'"{self._uuids[local]}"' for local in used])
            mapped.insert(0, f'"": [{quoted}]')
        return f'{text}, "mappings": {{{", ".join(mapped)}}}}}'

    def _shared(self, solution: Sequence[int]) -> list[str]:
        """The allocations where a provider serves several variables."""
        giving: dict[int, list[int]] = {}
        for number in self._writer.giving:
            giving.setdefault(solution[number], []).append(number)
        writer, uuids = self._writer, self._uuids
        return [
            writer.entry % (uuids[local], writer.summed(numbers))
            for local, numbers in giving.items()
        ]


#: bounds the memory of one answer
_MOST_SUMS = 10_000
