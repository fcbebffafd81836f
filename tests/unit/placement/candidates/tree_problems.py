"""Problems of trees for the tests of the search within one tree."""

import itertools

from hypothesis import strategies as st

from placement.candidates.budget import Budget
from placement.candidates.tree_problem import Local, RequestShape, Variable
from placement.candidates.trees.backtracking import solutions_of, subproblems_of
from tests.endless import endless

VF, VGPU = 1, 2


def looks(count):
    """Make a budget of so many looks at the clock, 2,000 steps apart."""
    return Budget(count, None, clock=itertools.count().__next__)


def shape_of(groups, isolate=False, subtrees=(), amounts=None):
    """Suffixed groups of one unit each, given by their kinds."""
    amounts = amounts or [1] * len(groups)
    variables = tuple(
        Variable(str(n), kind, ((VF, amount),), ((VF, amount),))
        for n, (kind, amount) in enumerate(zip(groups, amounts, strict=True))
    )
    return RequestShape(variables, subtrees, 0, isolate, nested=True)


def packing(amounts, isolate=False, subtrees=()):
    """Suffixed groups that all have the same options."""
    variables = tuple(
        Variable(str(n), 0, ((VF, amount),), ((VF, amount),)) for n, amount in enumerate(amounts)
    )
    return RequestShape(variables, subtrees, 0, isolate, nested=True)


def devices(count, units, options=1):
    """Return equal devices, side by side."""
    return [Local(options, 0, 1 << n, -1, (units,)) for n in range(count)]


def devices_of(rooms):
    """Return devices with this room each, side by side."""
    return [Local(1, 0, 1 << n, -1, (room,)) for n, room in enumerate(rooms)]


def by_trying_all(shape, locals_):
    """Return the valid solutions, from the definition."""
    found = set()
    for choice in itertools.product(range(len(locals_)), repeat=len(shape.variables)):
        variables = list(zip(shape.variables, choice, strict=True))
        if not all(locals_[n].options >> v.kind & 1 for v, n in variables):
            continue
        taken = [0] * len(locals_)
        for variable, number in variables:
            taken[number] += variable.demand[0][1]
        if any(amount > locals_[n].rooms[0] for n, amount in enumerate(taken)):
            continue
        if shape.isolate and len(set(choice)) < len(choice):
            continue
        if all(
            any(all(locals_[top].below >> choice[v] & 1 for v in members) for top in tops)
            for members in shape.subtrees
            for tops in [{choice[v] for v in members}]
        ):
            found.add(choice)
    return found


@st.composite
def problems(draw):
    """Small trees: locals in a chain or side by side, and up to four groups of two kinds."""
    count = draw(st.integers(1, 4))
    parents = [draw(st.integers(-1, n - 1)) for n in range(count)]
    below = [1 << n for n in range(count)]
    for n in reversed(range(count)):
        if parents[n] >= 0:
            below[parents[n]] |= below[n]
    locals_ = [
        Local(draw(st.integers(0, 3)), 0, below[n], -1, (draw(st.integers(0, 7)),))
        for n in range(count)
    ]
    groups = draw(st.lists(st.integers(0, 1), min_size=2, max_size=5))
    amounts = [draw(st.integers(1, 4)) for _ in groups]
    subtrees = tuple(
        draw(
            st.lists(
                st.frozensets(st.integers(0, len(groups) - 1), min_size=2), max_size=3, unique=True
            )
        )
    )
    return shape_of(groups, draw(st.booleans()), subtrees, amounts), locals_


def solutions(shape, locals_, budget=None, source=None):
    """Yield the solutions of one tree."""
    return solutions_of(subproblems_of(shape, locals_, budget or endless()), source)
