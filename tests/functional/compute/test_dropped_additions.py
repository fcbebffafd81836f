"""What an earlier provider.yaml added and the present one doesn't: removed, unless held."""

import json
import logging
import pathlib
import shutil
from uuid import uuid4

import pytest

from compute.report.wire.context import admin_context
from compute.resource_tracker.provider_yaml.applied_configs import FOLDER, VERSION
from tests.functional.compute.compute_host import FreshPairDriver, nodes_uuid, writes_of_an_update
from virt.fake import MediumFakeDriver

TRAIT, CLASS = "CUSTOM_RACK", "CUSTOM_LICENSE"


def lists(host, identity="uuid: $COMPUTE_NODE", traits=(), total=None):
    """Write the host's one file; without traits and total it is empty."""
    directory = pathlib.Path(host.conf.compute.provider_config_location)
    directory.mkdir(exist_ok=True)
    entry = {}
    if traits:
        entry["traits"] = {"additional": list(traits)}
    if total:
        entry["inventories"] = {"additional": [{CLASS: {"total": total}}]}
    providers = (
        f"providers: [{{identification: {{{identity}}}, {json.dumps(entry)[1:-1]}}}]"
        if entry
        else "providers: []"
    )
    (directory / "a.yaml").write_text(f"meta: {{schema_version: '1.0'}}\n{providers}\n")


def memory(host, node_uuid=None):
    return pathlib.Path(host.conf.state_path) / FOLDER / f"{node_uuid or host.uuid}.json"


def noted(host, uuid=None):
    return json.loads(memory(host).read_text())["providers"].get(uuid or host.uuid)


@pytest.fixture
def pool(host, outsider):
    """Return a child of the root that is the operator's own, on which the service has run."""
    host.start()
    return outsider.provider(
        f"{host.name}-pool", parent=host.uuid, inventory={"CUSTOM_Y": {"total": 3}}
    )


class LicensingDriver(MediumFakeDriver):
    """Gives trait and class itself."""

    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        tree.add_traits(nodename, TRAIT)
        inventory = tree.data(nodename).inventory
        tree.update_inventory(nodename, {**inventory, CLASS: {"total": 7}})


def test_r28_what_a_file_no_longer_adds_is_removed(host, outsider):
    lists(host, traits=[TRAIT], total=10)
    host.start()
    assert (TRAIT in outsider.traits(host.uuid), outsider.totals(host.uuid)[CLASS]) == (True, 10)
    lists(host)
    host.start()
    assert TRAIT not in outsider.traits(host.uuid)
    assert CLASS not in outsider.totals(host.uuid)


def test_r28_what_is_held_stays_until_it_is_given_back(host, outsider):
    lists(host, total=10)
    host.start()
    guest = outsider.allocate({host.uuid: {CLASS: 2}})
    lists(host)
    host.start()
    assert (host.outcome.failures, outsider.totals(host.uuid)[CLASS]) == ({}, 10)
    outsider.call("DELETE", f"/allocations/{guest}")
    host.start()
    assert CLASS not in outsider.totals(host.uuid)


class TestDropped:
    def test_a_trait_is_removed_at_the_next_start(self, host, outsider, caplog):
        lists(host, traits=[TRAIT, "CUSTOM_STAYS"])
        host.start()
        lists(host, traits=["CUSTOM_STAYS"])
        with caplog.at_level(logging.INFO):
            host.start()
        assert outsider.traits(host.uuid) & {TRAIT, "CUSTOM_STAYS"} == {"CUSTOM_STAYS"}
        assert f"Removed {TRAIT} from provider {host.name}" in caplog.text
        assert noted(host) == {"traits": ["CUSTOM_STAYS"], "inventories": []}
        assert writes_of_an_update(host) == []

    def test_a_class_that_nobody_holds_is_removed_from_a_provider_no_driver_rewrites(
        self, host, outsider, pool
    ):
        lists(host, f"uuid: {pool}", total=10)
        host.start()
        assert outsider.totals(pool) == {"CUSTOM_Y": 3, CLASS: 10}
        lists(host)
        host.start()
        assert outsider.totals(pool) == {"CUSTOM_Y": 3}
        assert writes_of_an_update(host) == []

    def test_everything_is_removed_when_the_directory_is(self, host, outsider):
        lists(host, traits=[TRAIT], total=10)
        host.start()
        shutil.rmtree(host.conf.compute.provider_config_location)
        host.start()
        assert TRAIT not in outsider.traits(host.uuid)
        assert CLASS not in outsider.totals(host.uuid)

    def test_nothing_is_removed_while_the_service_runs_on_the_files_it_read(self, host, outsider):
        lists(host, traits=[TRAIT])
        host.start()
        lists(host)
        assert writes_of_an_update(host) == []
        assert TRAIT in outsider.traits(host.uuid)

    def test_a_line_that_comes_back_is_obeyed_again(self, host, outsider):
        for traits in ([TRAIT], [], [TRAIT], []):
            lists(host, traits=traits)
            host.start()
            assert (TRAIT in outsider.traits(host.uuid)) == bool(traits)

    @pytest.mark.parametrize("on_root", [True, False])
    def test_a_class_that_is_held_stays_and_is_told_once(
        self, host, outsider, pool, caplog, on_root
    ):
        provider = host.uuid if on_root else pool
        lists(host, f"uuid: {provider}", traits=[TRAIT], total=10)
        host.start()
        guest = outsider.allocate({provider: {CLASS: 2}})
        lists(host)
        host.start()
        requests = [writes_of_an_update(host) for _ in range(3)]
        assert (host.outcome.failures, requests) == ({}, [[], [], []])
        assert outsider.totals(provider)[CLASS] == 10
        assert TRAIT not in outsider.traits(provider)
        told = [r for r in caplog.records if "it stays until they are gone" in r.getMessage()]
        assert [r.levelname for r in told] == ["WARNING"]
        outsider.call("DELETE", f"/allocations/{guest}")
        host.manager.reset()
        host.update()
        assert CLASS not in outsider.totals(provider)
        assert noted(host, provider) is None

    def test_an_idle_service_asks_nothing_because_of_what_is_held(self, host, outsider, pool):
        lists(host, f"uuid: {pool}", total=10)
        host.start()
        outsider.allocate({pool: {CLASS: 2}})
        lists(host)
        host.start()
        host.update()
        host.adapter.requests.clear()
        host.update()
        assert host.adapter.requests == []


class TestOthers:
    def test_what_the_driver_gives_stays(self, host, outsider):
        lists(host, traits=[TRAIT], total=10)
        host.start()
        lists(host)
        host.start(LicensingDriver)
        assert TRAIT in outsider.traits(host.uuid)
        assert outsider.totals(host.uuid)[CLASS] == 7
        assert noted(host) is None

    def test_what_an_operator_gave_before_the_file_did_stays(self, host, outsider, pool):
        outsider.set_traits(pool, [TRAIT])
        outsider.set_inventory(pool, {CLASS: {"total": 5}})
        for total in (5, None):
            lists(host, f"uuid: {pool}", traits=[TRAIT] if total else (), total=total)
            host.start()
        assert outsider.traits(pool) - {"OWNER_NOVA"} == {TRAIT}
        assert outsider.totals(pool) == {CLASS: 5}

    def test_what_an_operator_gives_again_after_it_was_removed_stays(self, host, outsider, pool):
        for traits in ([TRAIT], []):
            lists(host, f"uuid: {pool}", traits=traits)
            host.start()
        outsider.set_traits(pool, [TRAIT])
        host.start()
        assert outsider.traits(pool) == {TRAIT}

    def test_what_a_writer_gives_at_the_same_moment_is_that_writers(self, host, outsider, pool):
        lists(host, f"uuid: {pool}", traits=[TRAIT])

        def disturb(host):
            update, calls = host.manager.reportclient.update_from_provider_tree, []

            def disturbed(*args, **kwargs):
                calls.append(args)
                if len(calls) == 1:
                    outsider.set_traits(pool, [TRAIT])
                return update(*args, **kwargs)

            host.manager.reportclient.update_from_provider_tree = disturbed

        host.start(prepare=disturb)
        assert (host.outcome.failures, noted(host, pool)) == ({}, None)
        lists(host)
        host.start()
        assert outsider.traits(pool) == {TRAIT, "OWNER_NOVA"}

    @pytest.mark.one_by_one
    def test_what_was_written_before_another_writer_came_is_the_files_all_the_same(
        self, host, outsider, pool
    ):
        lists(host)
        host.start()
        lists(host, f"uuid: {pool}", traits=[TRAIT], total=10)

        def disturb(host):
            def before(method, url):
                if method == "PUT" and url == f"/resource_providers/{pool}/traits":
                    host.adapter.before = None
                    outsider.set_traits(pool, ["CUSTOM_THEIRS"])

            host.adapter.before = before

        host.start(prepare=disturb)
        assert outsider.traits(pool) == {TRAIT, "CUSTOM_THEIRS", "OWNER_NOVA"}
        assert outsider.totals(pool) == {"CUSTOM_Y": 3, CLASS: 10}
        lists(host)
        host.start()
        assert outsider.traits(pool) == {"CUSTOM_THEIRS", "OWNER_NOVA"}
        assert outsider.totals(pool) == {"CUSTOM_Y": 3}

    def test_what_was_written_before_the_client_forgot_it_is_the_files_all_the_same(
        self, host, outsider
    ):
        lists(host)
        host.start()
        lists(host, traits=[TRAIT], total=10)

        def disturb(host):
            def after(method, url):
                if method == "PUT" and host.uuid in url:
                    host.adapter.after = None
                    host.manager.reportclient.clear_provider_cache()

            host.adapter.after = after

        host.start(prepare=disturb)
        assert (TRAIT in outsider.traits(host.uuid), host.adapter.after) == (True, None)
        lists(host)
        host.start()
        assert TRAIT not in outsider.traits(host.uuid)
        assert CLASS not in outsider.totals(host.uuid)

    def test_an_allocation_at_the_same_moment_keeps_the_class(self, host, outsider, pool):
        lists(host, f"uuid: {pool}", total=10)
        host.start()
        lists(host)
        holders = []

        def disturb(host):
            update = host.manager.reportclient.update_from_provider_tree

            def disturbed(*args, **kwargs):
                if not holders:
                    holders.append(outsider.allocate({pool: {CLASS: 1}}))
                return update(*args, **kwargs)

            host.manager.reportclient.update_from_provider_tree = disturbed

        host.start(prepare=disturb)
        assert host.outcome.failures == {}
        assert outsider.totals(pool)[CLASS] == 10
        assert outsider.allocations(holders[0]) == {pool: {CLASS: 1}}

    def test_one_of_two_nodes_keeps_what_its_own_entry_still_adds(self, host, outsider):
        lists(host, traits=[TRAIT])
        host.start(FreshPairDriver)
        first, second = (nodes_uuid(host, f"{name}-{host.name}") for name in "ab")
        lists(host, f"uuid: {first}", traits=[TRAIT])
        host.start(FreshPairDriver)
        assert TRAIT in outsider.traits(first)
        assert TRAIT not in outsider.traits(second)

    def test_a_pool_of_both_nodes_loses_it_once_and_neither_fails(self, host, outsider, caplog):
        host.start(FreshPairDriver)
        aggregate = str(uuid4())
        nodes = [nodes_uuid(host, f"{name}-{host.name}") for name in "ab"]
        for node in nodes:
            outsider.set_aggregates(node, [aggregate])
        disk = {"DISK_GB": {"total": 9}}
        shares = ["MISC_SHARES_VIA_AGGREGATE"]
        pool = outsider.provider(f"{host.name}-pool", None, disk, shares, [aggregate])
        lists(host, f"uuid: {pool}", traits=[TRAIT], total=10)
        host.start(FreshPairDriver)
        assert (TRAIT in outsider.traits(pool), outsider.totals(pool)[CLASS]) == (True, 10)
        lists(host)
        with caplog.at_level(logging.INFO):
            host.start(FreshPairDriver)
        assert host.outcome.failures == {}
        # If the nodes met at the pool, each has given it a part, or neither knows who removed it.
        messages = [r.getMessage() for r in caplog.records if "Removed" in r.getMessage()]
        assert all(sum(name in told for told in messages) <= 1 for name in (TRAIT, CLASS))
        assert outsider.traits(pool) == {*shares, "OWNER_NOVA"}
        assert outsider.totals(pool) == {"DISK_GB": 9}
        for node in nodes:
            assert json.loads(memory(host, node).read_text())["providers"] == {}

    def test_a_node_that_was_elsewhere_meanwhile_loses_what_its_host_no_longer_adds(
        self, host, outsider
    ):
        lists(host, traits=[TRAIT])
        host.start(FreshPairDriver)
        name = f"b-{host.name}"
        uuid = nodes_uuid(host, name)
        record = host.cell.compute_nodes.by_host_and_node(host.name, name)
        record.host = "another host"
        host.cell.compute_nodes.save(record)
        lists(host)
        host.start(FreshPairDriver)
        assert host.outcome.failures == {}
        assert TRAIT not in outsider.traits(uuid)

    def test_the_memory_of_a_deleted_node_goes_with_it(self, host):
        host.start(FreshPairDriver)
        uuid = nodes_uuid(host, f"b-{host.name}")
        kept = memory(host, nodes_uuid(host, f"a-{host.name}"))
        assert memory(host, uuid).exists()
        host.driver.is_node_deleted = lambda nodename: True
        host.driver._set_nodes([f"a-{host.name}"])
        host.update()
        assert (memory(host, uuid).exists(), kept.exists()) == (False, True)


class TestMemory:
    def test_the_first_start_with_this_version_removes_nothing(self, host, outsider):
        lists(host, traits=[TRAIT])
        host.start()
        memory(host).unlink()
        lists(host)
        host.start()
        assert TRAIT in outsider.traits(host.uuid)

    def test_what_the_file_lists_at_the_first_start_with_this_version_counts_as_the_files(
        self, host, outsider
    ):
        lists(host, traits=[TRAIT])
        host.start()
        memory(host).unlink()
        host.start()
        lists(host)
        host.start()
        assert TRAIT not in outsider.traits(host.uuid)

    def test_also_when_another_writer_disturbs_that_start(self, host, outsider, pool):
        lists(host, f"uuid: {pool}", traits=[TRAIT, "CUSTOM_OTHER"])
        host.start()
        memory(host).unlink()
        outsider.set_traits(pool, [TRAIT])

        def disturb(host):
            update, calls = host.manager.reportclient.update_from_provider_tree, []

            def disturbed(*args, **kwargs):
                calls.append(args)
                if len(calls) == 1:
                    outsider.allocate({pool: {"CUSTOM_Y": 1}})
                return update(*args, **kwargs)

            host.manager.reportclient.update_from_provider_tree = disturbed

        host.start(prepare=disturb)
        lists(host)
        host.start()
        assert outsider.traits(pool) == {"OWNER_NOVA"}

    @pytest.mark.parametrize(
        "text",
        [
            "{",
            '{"version": 1, "providers": {"x": 3}}',
            '{"version": 1, "providers": {"x": {"traits": [7], "inventories": []}}}',
            *(
                pytest.param(text, marks=pytest.mark.thorough)
                for text in (
                    "",
                    "[]",
                    '{"version": 1, "providers": {"x": {"traits": ["COMPUTE_NODE"], '
                    '"inventories": []}}}',
                    "\0",
                )
            ),
        ],
    )
    def test_damage_removes_nothing_and_begins_anew(self, host, outsider, caplog, text):
        lists(host, traits=[TRAIT])
        host.start()
        memory(host).write_text(text)
        lists(host, traits=["CUSTOM_NEW"])
        host.start()
        assert outsider.traits(host.uuid) >= {TRAIT, "CUSTOM_NEW"}
        assert str(memory(host)) in caplog.text
        lists(host)
        host.start()
        assert outsider.traits(host.uuid) & {TRAIT, "CUSTOM_NEW"} == {TRAIT}

    def test_a_newer_versions_memory_stays_and_nothing_is_removed(self, host, outsider, caplog):
        lists(host, traits=[TRAIT])
        host.start()
        content = json.dumps({"version": VERSION + 1, "all": {}})
        memory(host).write_text(content)
        lists(host, traits=["CUSTOM_NEW"])
        host.start()
        host.update()
        assert outsider.traits(host.uuid) >= {TRAIT, "CUSTOM_NEW"}
        assert memory(host).read_text() == content
        told = [r for r in caplog.records if "newer version" in r.getMessage()]
        assert [r.levelname for r in told] == ["WARNING"]

    def test_what_can_not_be_noted_is_added_and_never_removed(self, host, outsider, caplog):
        lists(host, traits=[TRAIT])
        host.start()
        folder = memory(host).parent
        shutil.rmtree(folder)
        folder.write_text("in the way")
        lists(host, traits=["CUSTOM_NEW"])
        host.start()
        host.update()
        lists(host)
        host.start()
        assert host.outcome.failures == {}
        assert outsider.traits(host.uuid) >= {TRAIT, "CUSTOM_NEW"}
        assert len([r for r in caplog.records if "nothing is removed" in r.getMessage()]) == 2

    def test_a_full_disk_keeps_what_was_to_be_removed(self, host, outsider, monkeypatch, caplog):
        lists(host, traits=[TRAIT], total=10)
        host.start()
        lists(host, traits=["CUSTOM_NEW"])

        def full(descriptor):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("compute.resource_tracker.provider_yaml.applied_configs.os.fsync", full)
            host.start()
            assert outsider.traits(host.uuid) >= {TRAIT, "CUSTOM_NEW"}
            assert outsider.totals(host.uuid)[CLASS] == 10
            assert "can't be remembered" in caplog.text
        host.manager.update_available_resource(admin_context())
        assert outsider.traits(host.uuid) & {TRAIT, "CUSTOM_NEW"} == {"CUSTOM_NEW"}
        assert CLASS not in outsider.totals(host.uuid)

    def test_a_provider_recreated_under_another_uuid_owes_nothing_to_the_old_one(
        self, host, outsider, pool
    ):
        lists(host, f"name: {host.name}-pool", traits=[TRAIT])
        host.start()
        outsider.call("DELETE", f"/resource_providers/{pool}")
        again = outsider.provider(f"{host.name}-pool", parent=host.uuid, traits=[TRAIT])
        lists(host)
        host.start()
        assert outsider.traits(again) == {TRAIT}
