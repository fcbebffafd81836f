"""Candidates as JSON text (allocation-candidates.md 5).

They are joined from prepared texts: a provider's summary is kept with the snapshot, and candidates
of equal trees differ in uuids alone. So a solution is written once, with holes in place of uuids,
and then the holes are filled for all trees that have it::

    {"allocations": {"        piece
    36 bytes                  hole: the uuid of the place 2, which is h0.0, h1.0, h2.0, …
    ": {"resources": …        piece

candidate_search.rst follows an example. Blanks stand where `json.dumps` has them.
"""

import collections
import dataclasses
import itertools
import json
import re
from collections.abc import Mapping, Sequence

import numpy as np

from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.prepared_texts import SEPARATOR
from placement.candidates.cloud.summaries import Summaries
from placement.candidates.search import FoundCandidates
from placement.candidates.slots import WholeSlot
from placement.candidates.tree_problem import RequestShape
from placement.candidates.trees.tree_solutions import CandidateBatch, ProblemFamily
from placement.microversions import Version
from placement.storage.uuid_rows import LENGTH

ALLOCATIONS_BY_PROVIDER: Version = (1, 12)
NESTED: Version = (1, 29)
MAPPINGS: Version = (1, 34)

#: a hole while a template is made: the place of a provider in its tree, between zero characters
_HOLE = re.compile("\0(\\d+)\0")
_NO_UUID = bytes(LENGTH)
#: fewer candidates than this are written one by one
_FEW = 24
#: texts of this many bytes aren't copied just to have fewer pieces
_LARGE = 16_384


def body(found: FoundCandidates, version: Version) -> list[bytes]:
    """Return the whole answer as the version shows it, in pieces."""
    count = len(found)
    if not count or found.shape is None:
        return [b'{"allocation_requests": [], "provider_summaries": {}}']
    candidates = _Candidates(found, found.shape, version)
    texts = candidates.write()
    if found.shuffle is not None:
        found.shuffle.shuffle(texts)
    summaries = Summaries(found.snapshot, version, _classes(found))
    if version >= NESTED:
        shown = summaries.of_trees(candidates.roots())
    else:
        shown = summaries.of_providers(candidates.used())
    return [
        b'{"allocation_requests": [',
        *_separated(texts),
        b'], "provider_summaries": {',
        *_separated(shown),
        b"}}",
    ]


def _separated(texts: list[bytes]) -> list[bytes]:
    """Join texts to few pieces: many small texts to one, and large ones without copying them."""
    if len(texts) == 1 or sum(map(len, texts)) < _LARGE:
        return [SEPARATOR.join(texts)]
    pieces: list[bytes] = []
    small: list[bytes] = []
    for text in texts:
        if len(text) >= _LARGE:
            if small:
                pieces.append(SEPARATOR.join([*small, b""]))
                small = []
            pieces += [text, SEPARATOR]
        else:
            small.append(text)
    if small:
        return [*pieces, SEPARATOR.join(small)]
    return pieces[:-1]


def _classes(found: FoundCandidates) -> frozenset[str]:
    return frozenset(name for group in found.request.groups for name in group.resources)


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """One solution as text with a hole for each uuid of a provider of the tree.

    :param pieces: the text before, between and behind the holes
    :param fillers: by hole, the place in the tree of the provider whose uuid goes there
    :param used: the places in the tree of the providers that something is allocated from
    :param lent: the providers of other trees that something is allocated from
    """

    pieces: tuple[str, ...]
    fillers: tuple[int, ...]
    used: tuple[int, ...]
    lent: tuple[int, ...]


class _Candidates:
    """Writes the candidates of one answer."""

    def __init__(self, found: FoundCandidates, shape: RequestShape, version: Version) -> None:
        self._found = found
        self._register = found.snapshot.register
        self._writer = SolutionWriter(shape, found.snapshot.names.classes, version)
        self._one_each = found.shuffle is not None
        #: the writer, and the provider of each local, of a tree that is alone in a batch, by root
        self._bound: dict[int, tuple[BoundWriter, list[WholeSlot]]] = {}
        #: by problem and solution
        self._templates: dict[object, Template] = {}
        self._used: list[Slots] = []
        self._lent: set[int] = set()

    def write(self) -> list[bytes]:
        """Write the candidates as JSON, one or many at a time."""
        texts: list[bytes] = []
        for batch in self._found.batches:
            if len(batch) == 1:
                texts.append(self._single(batch))
            else:
                texts += self._several(batch)
        return texts

    def used(self) -> Slots:
        """Return, after `write`, the providers of allocations, ascending."""
        chosen = np.zeros(self._found.snapshot.size, np.bool_)
        for slots in self._used:
            chosen[slots] = True
        chosen[list(self._lent)] = True
        return np.flatnonzero(chosen).astype(np.int32)

    def roots(self) -> Slots:
        """Return, after `write`, the roots of the providers of allocations, ascending."""
        forest = self._found.snapshot.forest
        if not forest.nested:
            return self.used()
        chosen = np.zeros(forest.size, np.bool_)
        chosen[forest.root[self.used()]] = True
        return np.flatnonzero(chosen).astype(np.int32)

    def _single(self, batch: CandidateBatch) -> bytes:
        root = int(batch.family.roots[0])
        known = self._bound.get(root)
        if known is None:
            slots = batch.family.slots(0)
            writer = self._writer.bound([self._register.uuids[slot] for slot in slots])
            known = self._bound[root] = writer, slots
        writer, slots = known
        solution = batch.solution
        self._lent.update([slots[local] for local in self._writer.used(solution)])
        return writer.write(solution).encode()

    def _several(self, batch: CandidateBatch) -> list[bytes]:
        family = batch.family
        key = (family.solutions, batch.solution)
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = self._template(batch)
        self._used += [family.members[:, place] for place in template.used]
        self._lent.update(template.lent)
        if len(family) < _FEW or not self._register.uuids.even:
            return self._one_by_one(template, family)
        return self._as_table(template, family)

    def _one_by_one(self, template: Template, family: ProblemFamily) -> list[bytes]:
        form = "%s".join(piece.replace("%", "%%") for piece in template.pieces)
        uuids, fillers = self._register.uuids, template.fillers
        return [
            (form % tuple([uuids[slots[place]] for place in fillers])).encode()
            for slots in family.members.tolist()
        ]

    def _as_table(self, template: Template, family: ProblemFamily) -> list[bytes]:
        table = byte_table(template, family.members, self._register.uuids.rows)
        if self._one_each:
            return [line.tobytes() for line in table[:, : -len(SEPARATOR)]]
        return [table.reshape(-1)[: -len(SEPARATOR)].tobytes()]

    def _template(self, batch: CandidateBatch) -> Template:
        return template_of(batch, self._writer, self._register.uuids)


def template_of(batch: CandidateBatch, writer: "SolutionWriter", uuids: Sequence[str]) -> Template:
    """Return the candidates of a batch as one text with holes.

    :param uuids: by slot
    """
    solutions, solution = batch.family.solutions, batch.solution
    own = len(solutions.places)
    names = [f"\0{place}\0" for place in solutions.places]
    names += [uuids[slot] for slot in solutions.lent]
    pieces = _HOLE.split(writer.bound(names).write(solution))
    used = writer.used(solution)
    return Template(
        tuple(pieces[::2]),
        tuple(int(piece) for piece in pieces[1::2]),
        tuple(solutions.places[local] for local in used if local < own),
        tuple(solutions.lent[local - own] for local in used if local >= own),
    )


def byte_table(template: Template, members: Slots, uuids: Numbers) -> Numbers:
    """Return candidates as rows of bytes: the pieces of the template with uuids between them.

    All uuids have the same length, so all candidates have. Each row ends with SEPARATOR.

    :param members: trees × providers: the slots of each tree
    :param uuids: by slot, a row of bytes each
    """
    pieces = [piece.encode() for piece in template.pieces]
    row = _NO_UUID.join(pieces) + SEPARATOR
    table = np.empty((len(members), len(row)), np.uint8)
    table[:] = np.frombuffer(row, np.uint8)
    at = 0
    for piece, place in zip(pieces, template.fillers, strict=False):
        at += len(piece)
        table[:, at : at + LENGTH] = uuids[members[:, place]]
        at += LENGTH
    return table


class SolutionWriter:
    """How the version at hand writes candidates of a shape."""

    def __init__(self, shape: RequestShape, classes: Mapping[int, str], version: Version) -> None:
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
        """Return a writer of candidates whose locals have these uuids."""
        return BoundWriter(self, uuids)

    def used(self, solution: Sequence[int]) -> list[int]:
        """Return the locals that something is allocated from."""
        return list(dict.fromkeys([solution[number] for number in self.giving]))

    def summed(self, numbers: list[int]) -> str:
        """Return what the variables together take, as a JSON object."""
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
        #: (variable, the text of its allocation by local), then the same for its mapping
        self._gives = [(n, entries[writer.alone[n]]) for n in writer.giving]
        self._maps = [(n, [f'{head}{uuid}"]' for uuid in uuids]) for n, head in writer.suffixed]

    def write(self, solution: Sequence[int]) -> str:
        """Write the candidate as JSON."""
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
        """Return the allocations where a provider serves several variables."""
        giving: dict[int, list[int]] = {}
        for number in self._writer.giving:
            giving.setdefault(solution[number], []).append(number)
        writer, uuids = self._writer, self._uuids
        return [
            writer.entry % (uuids[local], writer.summed(numbers))
            for local, numbers in giving.items()
        ]


#: how many sums of demands are remembered as text: bounds the memory of one answer
_MOST_SUMS = 10_000
