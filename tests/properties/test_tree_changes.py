"""A tree that is written at once is the tree that single requests write (extensions.md 3).

BERTH_TEST_TREES is the number of random trees, BERTH_TEST_TREE_SEED where they begin.
"""

import os

import pytest

from tests.extent import examples
from tests.functional.placement.service import Service
from tests.properties.tree_changes import Client, Cloud, Drawing

TREES = int(os.environ.get("BERTH_TEST_TREES", examples(6, 24)))
SEED = int(os.environ.get("BERTH_TEST_TREE_SEED", "1"))
NOTHING = Cloud({}, {})


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    """Return clients of two services."""
    folder = tmp_path_factory.mktemp("placement")
    return [Client(Service(f"sqlite:///{folder}/{name}.db")) for name in ("one", "other")]


def rows(cloud):
    """Return a cloud of each tree, because a request writes one tree."""
    for root in {cloud.root(uuid) for uuid in cloud.providers}:
        yield root, {uuid: cloud.providers[uuid] for uuid in cloud.tree(root)}


@pytest.mark.parametrize("seed", range(SEED, SEED + TREES))
def test_one_request_does_what_many_do(seed, clients):
    drawing = Drawing(seed, seed)
    before = drawing.cloud()
    after = drawing.changed(before)
    for client in clients:
        there = Cloud({}, {})
        for root, providers in rows(before):
            # consumers may hold of both trees, so the last tree comes with all of them
            both = there.providers | providers
            held = before.held if len(both) == len(before.providers) else {}
            client.write_at_once(root, there, Cloud(both, held))
            there = Cloud(both, held)
    at_once, one_by_one = clients
    assert at_once.seen(NOTHING, before) == one_by_one.seen(NOTHING, before)
    old = [client.generations(before) for client in clients]

    at_once.write_at_once(drawing.root, before, after)
    one_by_one.write_one_by_one(drawing.root, before, after)

    assert at_once.seen(before, after) == one_by_one.seen(before, after)
    raised = [
        {
            uuid
            for uuid, generation in client.generations(after).items()
            if generation > was.get(uuid, -1)
        }
        for client, was in zip(clients, old, strict=True)
    ]
    assert raised[0] == raised[1]
