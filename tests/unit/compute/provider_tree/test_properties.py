"""Whatever the forest, ProviderTree keeps the rules of compute.md §2.3–2.5."""

from hypothesis import given
from hypothesis import strategies as st

from compute.provider_tree import ProviderTree


@st.composite
def forests(draw, names=None):
    """Rows of a forest, parents first: provider n hangs below an earlier one or is a root."""
    size = draw(st.integers(1, 12))
    rows = []
    for number in range(size):
        parent = draw(st.none() | st.sampled_from([row["uuid"] for row in rows] or [None]))
        name = draw(names) if names is not None else f"name-{number}"
        rows.append({"uuid": f"u{number}", "name": name, "parent_provider_uuid": parent})
    return rows


def populated(rows):
    tree = ProviderTree()
    tree.populate_from_iterable(rows)
    return tree


@given(forests().flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_the_order_of_the_rows_doesnt_matter_to_the_shape(rows_and_shuffled):
    rows, shuffled = rows_and_shuffled
    tree = populated(shuffled)
    assert {uuid: tree.data(uuid).parent_uuid for uuid in tree.get_provider_uuids()} == {
        row["uuid"]: row["parent_provider_uuid"] for row in rows
    }


@given(forests().flatmap(st.permutations))
def test_parents_always_come_before_their_children(rows):
    tree = populated(rows)
    seen = set()
    for uuid in tree.get_provider_uuids():
        assert tree.data(uuid).parent_uuid in seen | {None}
        seen.add(uuid)
    assert len(seen) == len(rows)


@given(forests())
def test_populating_twice_is_populating_once(rows):
    tree = populated(rows)
    before = tree.get_provider_uuids()
    tree.populate_from_iterable(rows)
    assert tree.get_provider_uuids() == before


@given(
    forests(names=st.sampled_from(["u0", "u1", "u2", "n0", "n1"])),
    st.data(),
)
def test_a_lookup_finds_root_uuid_then_root_name_then_the_first_in_the_walk(rows, data):
    tree = populated(rows)
    for uuid in data.draw(st.lists(st.sampled_from(tree.get_provider_uuids()), max_size=3)):
        if uuid in tree.get_provider_uuids():
            # Removing goes by the same lookup, so say what it will take.
            tree.remove(uuid)
    walk = [tree._forest.by_uuid[uuid] for uuid in tree.get_provider_uuids()]
    for key in ["u0", "u1", "u2", "u3", "n0", "n1"]:
        expected = (
            tree.roots_by_uuid.get(key)
            or tree.roots_by_name.get(key)
            or next((node for node in walk if key in (node.uuid, node.name)), None)
        )
        assert tree.exists(key) is (expected is not None)
        if expected is not None:
            assert tree.data(key).uuid == expected.uuid
