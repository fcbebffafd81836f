"""What may happen while a command moves inventory: an answer is lost, another writer is quicker.

Both with whole trees, which are read and written at once, and with single requests.
"""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from compute.report.trees.associations import Associations
from compute.report.trees.whole_trees import HOLDERS
from compute.report.wire.transport import Transport
from tests.functional.compute.maintenance.adopted import NOTHING
from tests.functional.compute.maintenance.drivers import CONTESTS
from tests.functional.compute.maintenance.site import DRIVERS
from virt.fake.driver import node_uuid

WHOLE_TREE = f"/berth/v1/provider_trees/{node_uuid('node-a')}"


def one_by_one(*values):
    return pytest.param(*values, marks=pytest.mark.one_by_one)


@pytest.mark.one_by_one
def test_what_fails_after_the_reshape_is_1_and_the_next_run_is_0(nodes, monkeypatch):
    post = Transport.post

    def reshaped(transport, url, *args, **kwargs):
        answer = post(transport, url, *args, **kwargs)
        if url == "/reshaper" and args[:1] != (NOTHING,):
            patched.setattr(Associations, "refresh_and_get_inventory", refuse)
        return answer

    def refuse(*args):
        raise exceptions.ResourceProviderRetrievalFailed(uuid=node_uuid("node-a"))

    with monkeypatch.context() as patched:
        patched.setattr(Transport, "post", reshaped)
        found = nodes.run("migrate_compute_inventory", "--node", "node-a")
    assert (found.code, found.err.count("\n")) == (1, 1)
    assert "Failed to get resource provider" in found.err
    found = nodes.run("migrate_compute_inventory", "--node", "node-a")
    assert (found.code, "no reshape needed" in found.out) == (0, True)


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize(("verb", "moves"), [("put", WHOLE_TREE), one_by_one("post", "/reshaper")])
def test_a_lost_answer_is_told_and_the_next_run_does_what_is_left(
    nodes, monkeypatch, verb, moves, done
):
    send = getattr(Transport, verb)

    def lose(client, url, *args, **kwargs):
        is_move = url == moves and args[:1] != (NOTHING,)
        if not is_move or done:
            answer = send(client, url, *args, **kwargs)
        if is_move:
            raise ksa_exc.ConnectFailure("Connection aborted.")
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(Transport, verb, lose)
        found = nodes.run("migrate_compute_inventory", "--node", "node-a")
    assert (found.code, found.err.count("\n")) == (3, 1)
    assert "either all of it is done or nothing. Start again" in found.err
    found = nodes.run("migrate_compute_inventory", "--node", "node-a")
    assert (found.code, "no reshape needed" in found.out) == (0, done)
    with nodes.placement() as outsider:
        assert outsider.totals(node_uuid("node-a")) == {"DISK_GB": 1028}


class TestAnotherRunAtTheSameTime:
    @pytest.fixture
    def migrate(self, nodes, monkeypatch):
        """Return a function that runs the command, with `interfere` called before one request."""

        def run(verb, path, interfere):
            send, met = getattr(Transport, verb), []

            def meet(client, url, *args, **kwargs):
                if url == path and not met:
                    met.append(url)
                    with nodes.placement() as outsider:
                        interfere(outsider, *args)
                return send(client, url, *args, **kwargs)

            monkeypatch.setattr(Transport, verb, meet)
            found = nodes.run("migrate_compute_inventory", "--node", "node-a")
            assert met == [path]
            return found

        return run

    @pytest.mark.parametrize("moment", ["name", "uuid"])
    @pytest.mark.parametrize(
        ("verb", "path"), [("put", WHOLE_TREE), one_by_one("post", "/resource_providers")]
    )
    def test_that_makes_a_child_first_is_no_failure(self, nodes, migrate, verb, path, moment):
        def make(outsider, body):
            child = body
            if path == WHOLE_TREE:
                news = [(uuid, new) for uuid, new in body["providers"].items() if "name" in new]
                child = {"uuid": news[0][0], **news[0][1]}
            uuid = {"uuid": child["uuid"]} if moment == "uuid" else {}
            outsider.provider(child["name"], child["parent_provider_uuid"], **uuid)

        found = migrate(verb, path, make)
        assert (found.code, found.err) == (0, "")
        with nodes.placement() as outsider:
            assert outsider.totals(node_uuid("node-a")) == {"DISK_GB": 1028}

    def test_that_takes_a_child_s_name_in_another_tree_is_told_at_once(self, nodes):
        with nodes.placement() as outsider:
            outsider.provider("node-a_numa0")
        found = nodes.run("migrate_compute_inventory", "--node", "node-a")
        assert (found.code, found.err.count("\n")) == (1, 1)
        assert "Failed to create resource provider node-a_numa0" in found.err

    @pytest.mark.parametrize(
        ("verb", "path"),
        [
            ("put", WHOLE_TREE),
            ("get", f"/berth/v1/provider_trees?in_tree={node_uuid('node-a')}&fields={HOLDERS}"),
            one_by_one("get", "/resource_providers/{child}/inventories"),
        ],
        ids=["written whole", "read whole", "read one by one"],
    )
    def test_that_removes_a_child_is_no_failure(self, nodes, migrate, verb, path):
        with nodes.placement() as outsider:
            child = outsider.provider("node-a-left", parent=node_uuid("node-a"))

        def remove(outsider, *_):
            outsider.call("DELETE", f"/resource_providers/{child}")

        found = migrate(verb, path.format(child=child), remove)
        assert (found.code, found.err) == (0, "")


class TestAConflictingWriter:
    @pytest.mark.parametrize(("times", "code"), [(3, 0), (4, 3)])
    def test_is_met_four_times_before_it_is_3(self, nodes, times, code):
        nodes.configure(f"{DRIVERS}.ContestedNodes", "[berth]\nconflict_retry_time = 0\n")
        nodes.write(CONTESTS, {"left": times})
        found = nodes.run("migrate_compute_inventory", "--node", "node-a")
        assert (found.code, found.err.count("\n")) == (code, int(code > 0))
        with nodes.placement() as outsider:
            moved = "VCPU" not in outsider.totals(node_uuid("node-a"))
        assert moved == (code == 0)
