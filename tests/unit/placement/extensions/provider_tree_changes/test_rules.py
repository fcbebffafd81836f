"""The order in which the new providers of a tree are created."""

import pytest

from placement.domain.provider import Member
from placement.extensions.provider_tree_changes.rules import TreeChange, TreePlan, WantedProvider

ROOT = "root"
STORED = Member(1, ROOT, "root's name", 0, 1, None)


class Name(str):
    """A uuid that counts how often any of them is looked up."""

    looked_up = 0

    def __hash__(self):
        Name.looked_up += 1
        return super().__hash__()

    __eq__ = str.__eq__


def plan(parents, members=()):
    """Return the plan that creates providers: name → parent."""
    wanted = {name: WantedProvider(None, name, parent) for name, parent in parents.items()}
    change = TreeChange(ROOT, wanted, {}, (), False)
    return TreePlan(change, {member.uuid: member for member in members})


def chain(count):
    names = [Name(number) for number in range(count)]
    # children before their parents
    return dict(reversed(list(zip(names, [ROOT, *names], strict=False))))


def comb(count):
    """Half of them one below the other, each with a child that is a leaf."""
    spine = chain(count // 2)
    return {Name(f"leaf of {name}"): name for name in spine} | spine


def wide(count):
    return dict.fromkeys(map(Name, range(count)), ROOT)


@pytest.mark.parametrize("members", [(), (STORED,)], ids=["new root", "stored root"])
@pytest.mark.parametrize("shape", [chain, comb, wide])
def test_each_provider_comes_once_and_after_its_parent(shape, members):
    parents = shape(40)
    if not members:
        parents |= {ROOT: None}
    levels = list(plan(parents, members).levels())
    there = {member.uuid for member in members}
    for level in levels:
        assert all(parents[name] is None or parents[name] in there for name in level)
        there.update(level)
    assert sorted(name for level in levels for name in level) == sorted(parents)
    if not members:
        assert levels[0] == [ROOT]


@pytest.mark.parametrize("shape", [chain, comb, wide])
def test_twice_as_many_providers_are_twice_the_work(shape):
    counts = []
    for size in (200, 400, 800):
        planned = plan(shape(size), [STORED])
        Name.looked_up = 0
        assert sum(map(len, planned.levels())) == size
        counts.append(Name.looked_up / size)
    assert max(counts) <= 1.1 * min(counts)


@pytest.mark.parametrize(
    "parents",
    [{"a": "nobody"}, {"a": "b", "b": "a"}, {"a": None}],
    ids=["missing", "circle", "second root"],
)
def test_a_provider_without_a_place_is_an_error(parents):
    found = plan(parents | {"fine": ROOT}, [STORED]).levels()
    assert next(found) == ["fine"]
    with pytest.raises(LookupError):
        next(found)
