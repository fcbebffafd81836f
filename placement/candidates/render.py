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
from placement.candidates.search import FoundCandidates
from placement.candidates.slots import WholeSlot
from placement.candidates.tree_problem import RequestShape
from placement.candidates.trees.tree_solutions import CandidateBatch
from placement.microversions import Version
from placement.storage.uuid_rows import LENGTH

ALLOCATIONS_BY_PROVIDER: Version = (1, 12)
TRAITS: Version = (1, 17)
ALL_CLASSES: Version = (1, 27)
NESTED: Version = (1, 29)
MAPPINGS: Version = (1, 34)

#: a hole while a template is made: the place of a provider in its tree, between zero characters
_HOLE = re.compile("\0(\\d+)\0")
#: fewer candidates than this are written one by one
_FEW = 24
#: texts of this many bytes aren't copied just to have fewer pieces
_LARGE = 16_384
#: how many sums of demands are remembered as text: bounds the memory of one answer
_MOST_SUMS = 10_000


def body(found: FoundCandidates, version: Version) -> list[bytes]:
    """Return the whole answer as the version shows it, in pieces."""
    if not len(found) or found.shape is None:
        return [b'{"allocation_requests": [], "provider_summaries": {}}']
    candidates = _Candidates(found, found.shape, version)
    texts = candidates.write()
    if found.shuffle is not None:
        found.shuffle.shuffle(texts)
    summaries = Summaries(found, version)
    used = candidates.used()
    shown = summaries.of_trees(used) if version >= NESTED else summaries.of_providers(used)
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
    for are_large, some in itertools.groupby(texts, lambda text: len(text) >= _LARGE):
        for text in some if are_large else [SEPARATOR.join(some)]:
            pieces += [text, SEPARATOR]
    return pieces[:-1]


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
            texts += [self._single(batch)] if len(batch) == 1 else self._several(batch)
        return texts

    def used(self) -> Slots:
        """Return, after `write`, the providers of allocations, ascending."""
        chosen = np.zeros(self._found.snapshot.size, np.bool_)
        for slots in self._used:
            chosen[slots] = True
        chosen[list(self._lent)] = True
        return np.flatnonzero(chosen).astype(np.int32)

    def _single(self, batch: CandidateBatch) -> bytes:
        root = int(batch.family.roots[0])
        known = self._bound.get(root)
        if known is None:
            slots = batch.family.slots(0)
            writer = BoundWriter(self._writer, [self._register.uuids[slot] for slot in slots])
            known = self._bound[root] = writer, slots
        writer, slots = known
        solution = batch.solution
        self._lent.update([slots[local] for local in self._writer.used(solution)])
        return writer.write(solution).encode()

    def _several(self, batch: CandidateBatch) -> list[bytes]:
        members, uuids = batch.family.members, self._register.uuids
        key = (batch.family.solutions, batch.solution)
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = template_of(batch, self._writer, uuids)
        self._used += [members[:, place] for place in template.used]
        self._lent.update(template.lent)
        if len(members) < _FEW or not uuids.even:
            form = "%s".join(piece.replace("%", "%%") for piece in template.pieces)
            return [
                (form % tuple([uuids[slots[place]] for place in template.fillers])).encode()
                for slots in members.tolist()
            ]
        table = byte_table(template, members, uuids.rows)
        if self._one_each:
            return [line.tobytes() for line in table[:, : -len(SEPARATOR)]]
        return [table.reshape(-1)[: -len(SEPARATOR)].tobytes()]


def template_of(batch: CandidateBatch, writer: "SolutionWriter", uuids: Sequence[str]) -> Template:
    """Return the candidates of a batch as one text with holes.

    :param uuids: by slot
    """
    solutions, solution = batch.family.solutions, batch.solution
    own = len(solutions.places)
    names = [f"\0{place}\0" for place in solutions.places]
    names += [uuids[slot] for slot in solutions.lent]
    pieces = _HOLE.split(BoundWriter(writer, names).write(solution))
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
    row = bytes(LENGTH).join(pieces) + SEPARATOR
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
        self.frame = ('{"allocations": {', "}")
        self.entry = '"%s": {"resources": %s}'
        if version < ALLOCATIONS_BY_PROVIDER:
            self.frame = ('{"allocations": [', "]")
            self.entry = '{"resource_provider": {"uuid": "%s"}, "resources": %s}'
        self._sums: dict[tuple[int, ...], str] = {}

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


class Summaries:
    """Writes summaries of providers as a version shows them; the snapshot keeps those of trees."""

    def __init__(self, found: FoundCandidates, version: Version) -> None:
        self._snapshot, self._version = found.snapshot, version
        #: the classes that are shown; None: all
        self._shown = None if version >= ALL_CLASSES else found.request.demand

    def of_trees(self, slots: Slots) -> list[bytes]:
        """Return the members of an object, one or many at a time: all of some providers' trees."""
        forest, texts = self._snapshot.forest, self._snapshot.tree_texts
        if not forest.nested:
            return texts.of(slots, forest.roots_of_blocks, self.of_providers)
        are_roots = np.zeros(self._snapshot.size, np.bool_)
        are_roots[forest.root[slots]] = True
        roots = np.flatnonzero(are_roots).astype(np.int32)
        return texts.of(roots, forest.roots_of_blocks, self._trees)

    def _trees(self, roots: Sequence[int]) -> list[bytes]:
        trees = [self._snapshot.forest.members(root).tolist() for root in roots]
        everybody = [slot for tree in trees for slot in tree]
        texts = iter(self._snapshot.texts.each(everybody, self.of_providers))
        return [SEPARATOR.join(itertools.islice(texts, len(tree))) for tree in trees]

    def of_providers(self, slots: Sequence[int] | Slots) -> list[bytes]:
        """Return the members of an object: just these providers."""
        snapshot, version = self._snapshot, self._version
        uuids = snapshot.register.uuids
        at = np.array(slots, np.int32)
        texts, resources = [], self._resources(at)
        parents = snapshot.forest.parent[at].tolist()
        roots = snapshot.forest.root[at].tolist()
        for slot, stock, parent, root in zip(at.tolist(), resources, parents, roots, strict=True):
            text = f'"{uuids[slot]}": {{"resources": {{{stock}}}'
            if version >= TRAITS:
                text += f', "traits": {self._traits(snapshot.traits_of[slot])}'
            if version >= NESTED:
                above = "null" if parent < 0 else f'"{uuids[parent]}"'
                text += f', "parent_provider_uuid": {above}, "root_provider_uuid": "{uuids[root]}"'
            texts.append((text + "}").encode())
        return texts

    def _traits(self, ids: tuple[int, ...]) -> str:
        names = self._snapshot.names.traits
        return self._snapshot.remembered(
            ("traits", ids), lambda: json.dumps([names[key] for key in ids])
        )

    def _resources(self, slots: Slots) -> list[str]:
        """Return the inventories of each provider, class by class over all of them."""
        snapshot = self._snapshot
        by_class: dict[int, list[int]] = {}
        for number, classes in enumerate(snapshot.classes_of.take(slots)):
            for class_id in classes:
                by_class.setdefault(class_id, []).append(number)
        texts: list[list[str]] = [[] for _ in slots]
        for class_id, numbers in sorted(by_class.items()):
            name, column = snapshot.names.classes[class_id], snapshot.columns[class_id]
            if self._shown is not None and name not in self._shown:
                continue
            shown, places = json.dumps(name), column.find(slots[numbers])[1]
            used = column.usage.take(places).tolist()
            for number, place, taken in zip(numbers, places.tolist(), used, strict=True):
                capacity = column.capacity(place)
                texts[number].append(f'{shown}: {{"capacity": {capacity}, "used": {taken}}}')
        return [", ".join(parts) for parts in texts]
