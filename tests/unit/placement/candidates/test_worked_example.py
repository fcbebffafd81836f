"""The page that follows one search step by step shows what the code does."""

import pathlib

import numpy as np
import pytest

from placement.candidates import render
from placement.candidates.cloud.snapshot import AllTrees
from placement.candidates.masks import mask_steps
from placement.candidates.masks.filter import GroupFilter, root_filter
from placement.candidates.masks.mask_steps import Remaining, StepListener, resolve
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.search import Search, search
from placement.candidates.tree_problem import options_of
from placement.candidates.trees.assignment import Assignment, plan
from placement.candidates.trees.backtracking import Lookahead
from placement.extensions.explain.explanation import explain
from tests.endless import endless

PAGE = pathlib.Path(__file__).parents[4] / "doc" / "candidate_search.rst"

AVX2, SHARES = "HW_CPU_X86_AVX2", "MISC_SHARES_VIA_AGGREGATE"


def uuid(name):
    """Return the uuid of a name in the example: the name, padded to the length of a uuid."""
    return name.rjust(36, "0")


def tree(name, devices):
    """Return a host in the rack, with a small NUMA node and one with trait and devices."""
    nodes = {
        uuid(name): (None, {}, [], ["rack"]),
        uuid(f"{name}0"): (uuid(name), {"VCPU": 4}, [], []),
        uuid(f"{name}1"): (uuid(name), {"VCPU": 4}, [AVX2], []),
    }
    for device in devices:
        nodes[uuid(f"{name}{device}")] = (uuid(f"{name}1"), {"VGPU": 1}, [], [])
    return nodes


CLOUD = {
    uuid("s"): (None, {"DISK_GB": 100}, [SHARES], ["rack"]),
    **tree("a", "xy"),
    **tree("b", "xy"),
    **tree("c", "x"),
    uuid("d"): (None, {"VCPU": 8, "DISK_GB": 50}, [AVX2], []),
}
SUBTREE = frozenset(["_N", "_G", "_H"])
ASKED = CandidateRequest(
    (
        Group("", {"DISK_GB": 10}),
        Group("_N", {"VCPU": 2}, (frozenset([AVX2]),)),
        Group("_G", {"VGPU": 1}),
        Group("_H", {"VGPU": 1}),
    ),
    same_subtree=(SUBTREE,),
    isolate=True,
)
VERSION = (1, 39)


@pytest.fixture
def snapshot(clouds):
    return clouds.snapshot(CLOUD)


@pytest.fixture
def page():
    return PAGE.read_text(encoding="utf-8")


def name(snapshot, slot):
    return snapshot.register.uuids[slot].lstrip("0")


def names(snapshot, slots):
    return " ".join(name(snapshot, slot) for slot in slots)


def table(*rows):
    """Rows as text, in columns as wide as they need be."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def assert_shown(page, text):
    """Fail unless a literal block of the page is this text."""
    block = "::\n\n" + "\n".join(f"    {line}".rstrip() for line in text.split("\n")) + "\n"
    assert block in page, text


def drawn(mask):
    """Return a mask as one character for each slot."""
    return " ".join("#" if bit else "." for bit in mask.tolist())


def test_the_cloud_in_columns(snapshot, page):
    forest = snapshot.forest
    slots = range(snapshot.size)
    rows = [
        ["provider", *(name(snapshot, slot) for slot in slots)],
        ["slot", *slots],
        ["parent", *("-" if slot < 0 else slot for slot in forest.parent.tolist())],
        ["root", *forest.root.tolist()],
    ]
    for resource_class in ("VCPU", "VGPU", "DISK_GB"):
        column = snapshot.column(snapshot.names.class_ids[resource_class])
        rooms = column.rooms_at(np.arange(snapshot.size)).tolist()
        rows.append([resource_class, *("-" if room < 0 else room for room in rooms)])
    assert_shown(page, table(*rows))


def mask_rows(snapshot):
    yield "", " ".join(name(snapshot, slot)[-1] for slot in range(snapshot.size))
    alive = snapshot.forest.alive
    for group in ASKED.groups[1:3]:
        remaining = Remaining(alive, alive, snapshot.forest.is_root)
        for step in mask_steps.of_one_provider(snapshot, resolve(AllTrees(snapshot), group)):
            remaining = remaining.after(step)
            yield f"{group.suffix} {step.name}", drawn(remaining.own)


def test_masks_that_the_steps_narrow(snapshot, page):
    assert_shown(page, table(*mask_rows(snapshot)))


def test_the_roots_that_can_serve_each_group(snapshot, page):
    roots = root_filter(AllTrees(snapshot), ASKED, StepListener())
    group_filter = GroupFilter(AllTrees(snapshot), roots, StepListener())
    rows = [("", " ".join(name(snapshot, slot)[-1] for slot in range(snapshot.size)))]
    rows.append(("roots", drawn(roots)))
    for group in ASKED.groups:
        filtered = group_filter.apply(group)
        roots = roots & filtered.roots
        title = f"{group.suffix} roots" if group.suffix else "DISK_GB roots"
        rows.append((title, drawn(filtered.roots)))
    assert_shown(page, table(*rows, ("together", drawn(roots))))


def test_the_account_of_the_steps(snapshot, page):
    rows = [("step", "name", "asked", "group", "providers", "trees")]
    explanation = explain(
        snapshot, ASKED, endless(), naming=lambda uuids: {key: key.lstrip("0") for key in uuids}
    )
    for step in explanation.steps:
        counts = (f"{before} → {after}" for before, after in (step.providers, step.trees))
        rows.append((step.step, step.name, step.asked or "-", step.group or "-", *counts))
    assert_shown(page, table(*rows))
    assert explanation.message in " ".join(page.split())


def families(snapshot):
    anchors = Search(snapshot, ASKED, endless()).anchors()
    return anchors.trees, list(anchors.families())


def bits_of(mask, length):
    """Return the numbers of the set bits, ascending, with commas."""
    return ",".join(str(number) for number in range(length) if mask >> number & 1)


def test_the_problem_of_a_tree(snapshot, page):
    trees, found = families(snapshot)
    variables = [("variable", "group", "kind", "takes")]
    for number, variable in enumerate(trees.shape.variables):
        classes = snapshot.names.classes
        demand = ",".join(f"{classes[key]}:{amount}" for key, amount in variable.demand)
        variables.append((number, variable.suffix or "-", variable.kind, demand))
    assert_shown(page, table(*variables))

    for family in found:
        problem = family.solutions.problem
        rows = [("local", "provider", "kinds", "VGPU", "below")]
        for number, slot in enumerate(family.slots(0)):
            local = problem.locals[number]
            kinds = bits_of(local.options, 8)
            below = bits_of(local.below, len(problem.locals))
            rows.append((number, name(snapshot, slot), kinds, local.rooms[0], below))
        title = f"trees {names(snapshot, family.roots.tolist())}"
        assert_shown(page, title + "\n\n" + table(*rows))


def test_solutions_and_the_bound_that_spares_a_search(snapshot, page):
    _, found = families(snapshot)
    lines = []
    for family in found:
        problem = family.solutions.problem
        of_tree = f"trees {names(snapshot, family.roots.tolist())}:"
        options = options_of(problem.shape, problem.locals)
        planned = plan(problem.shape, problem.locals, options, [])
        hopeful = Lookahead(planned).is_hopeful(0, Assignment(planned))
        lines.append(f"{of_tree} {'bounds allow it' if hopeful else 'bounds show that none fits'}")
        number = 0
        while (solution := family.solutions.at(number)) is not None:
            lines.append(f"{of_tree} solution {solution}")
            number += 1
    assert_shown(page, "\n".join(lines))


def test_the_candidates_in_their_order(snapshot, page):
    found = search(snapshot, ASKED, endless())
    lines = []
    for batch in found.batches:
        for number in range(len(batch)):
            slots = batch.family.slots(number)
            lines.append(names(snapshot, [slots[local] for local in batch.solution]))
    rows = [("DISK_GB", "_N", "_G", "_H"), *(line.split() for line in lines)]
    assert_shown(page, table(*rows))


def short(text):
    """Return a text with the names of the example instead of its uuids."""
    for key in CLOUD:
        text = text.replace(key, f"<{key.lstrip('0')}>")
    return text


def template(snapshot):
    found = search(snapshot, ASKED, endless())
    writer = render.SolutionWriter(found.shape, snapshot.names.classes, VERSION)
    batch = found.batches[0]
    return batch, render.template_of(batch, writer, snapshot.register.uuids)


def test_the_template_of_a_solution(snapshot, page):
    _, made = template(snapshot)
    rows = [f"piece   {short(made.pieces[0])}"]
    for place, piece in zip(made.fillers, made.pieces[1:], strict=True):
        rows += [f"hole    place {place}", f"piece   {short(piece)}"]
    assert_shown(page, "\n".join(rows))


def test_the_table_of_bytes_is_the_answer(snapshot, page, monkeypatch):
    batch, made = template(snapshot)
    rows = render.byte_table(made, batch.family.members, snapshot.register.uuids.rows)
    lines = [short(row.tobytes().decode()) for row in rows]
    assert_shown(page, "\n".join(f"{line[:92]} …" for line in lines))

    monkeypatch.setattr(render, "_FEW", 1)
    body = b"".join(render.body(search(snapshot, ASKED, endless()), VERSION))
    assert b"".join(row.tobytes() for row in rows)[:-2] in body
