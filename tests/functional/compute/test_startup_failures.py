"""A start-up reshape that is refused or ends in the middle (compute.md §9.3)."""

import pytest
from keystoneauth1.exceptions import ConnectFailure

from compute import exceptions
from compute.report.wire.context import admin_context
from tests.functional.compute.compute_host import NestingDriver
from tests.functional.compute.flat_host import (
    BOTH_WAYS,
    RESHAPER,
    ROOT_INVENTORY,
    WHOLE_TREE,
    tree_of,
    unchanged,
)
from virt.fake import MediumFakeDriver
from virt.inventory import record


class Crash(BaseException):
    """The service's process is gone: nothing in it may catch this."""


class TestWhatPlacementRefuses:
    """R12."""

    @pytest.mark.parametrize("what", ["class", "trait"])
    def test_r12_a_name_that_does_not_exist_is_logged_and_the_service_goes_on(
        self, host, outsider, what
    ):
        class BogusDriver(MediumFakeDriver):
            def update_provider_tree(self, tree, nodename, allocations=None):
                super().update_provider_tree(tree, nodename, allocations)
                if what == "class":
                    inventory = tree.data(nodename).inventory
                    tree.update_inventory(nodename, {**inventory, "FOO": record(1)})
                else:
                    tree.add_traits(nodename, "FOO")

        host.start(BogusDriver)
        assert isinstance(host.outcome.failures[host.name], exceptions.ResourceProviderSyncFailed)
        with pytest.raises(exceptions.ResourceProviderSyncFailed):
            host.manager.rt.update_available_resource(admin_context(), host.name)
        names = outsider.call("GET", "/resource_classes")["resource_classes"]
        assert "FOO" not in {entry["name"] for entry in names}
        assert "FOO" not in outsider.call("GET", "/traits")["traits"]


class TestCrash:
    """R33."""

    def crash_at_the_reshape(self, host):
        def before(method, url):
            if method != "GET" and url in (RESHAPER, WHOLE_TREE.format(host.uuid)):
                raise Crash

        host.adapter.before = before

    def test_before_a_whole_write_leaves_nothing_and_the_next_start_completes(
        self, flat_host, outsider
    ):
        with pytest.raises(Crash):
            flat_host.start(NestingDriver, prepare=self.crash_at_the_reshape)
        assert set(tree_of(outsider, flat_host)) == {flat_host.name}
        assert unchanged(outsider, flat_host)
        flat_host.start(NestingDriver)
        made = tree_of(outsider, flat_host)
        assert outsider.allocations(flat_host.first) == {
            flat_host.uuid: {"DISK_GB": 1},
            made[f"{flat_host.name}_numa1"]: {"VCPU": 1},
            made[f"{flat_host.name}_numa2"]: {"MEMORY_MB": 512},
        }

    @pytest.mark.one_by_one
    def test_r33_between_the_children_and_the_reshape_leaves_only_empty_children(
        self, flat_host, outsider
    ):
        with pytest.raises(Crash):
            flat_host.start(NestingDriver, prepare=self.crash_at_the_reshape)
        children = set(tree_of(outsider, flat_host).values()) - {flat_host.uuid}
        assert [outsider.totals(child) for child in children] == [{}, {}]
        assert unchanged(outsider, flat_host)

    @pytest.mark.one_by_one
    def test_r33_the_next_start_uses_those_children_and_completes(self, flat_host, outsider):
        with pytest.raises(Crash):
            flat_host.start(NestingDriver, prepare=self.crash_at_the_reshape)
        before = tree_of(outsider, flat_host)
        flat_host.start(NestingDriver)
        assert tree_of(outsider, flat_host) == before
        assert outsider.allocations(flat_host.first) == {
            flat_host.uuid: {"DISK_GB": 1},
            before[f"{flat_host.name}_numa1"]: {"VCPU": 1},
            before[f"{flat_host.name}_numa2"]: {"MEMORY_MB": 512},
        }

    @BOTH_WAYS
    def test_right_after_the_reshape_the_next_start_finds_nothing_left_to_move(
        self, flat_host, outsider, request_url, count
    ):
        def crash_after(host):
            def after(method, url):
                if count(host):
                    raise Crash

            host.adapter.after = after

        with pytest.raises(Crash):
            flat_host.start(NestingDriver, prepare=crash_after)
        flat_host.start(NestingDriver)
        # Without whole trees, the traits of new providers are written after the reshape.
        assert [one for one in flat_host.adapter.writes if not one[1].endswith("/traits")] == []
        assert outsider.totals(flat_host.uuid) == {"DISK_GB": 1028}


class TestPlacementDown:
    """R34."""

    def unreachable(self, host):
        def before(method, url):
            raise ConnectFailure("nobody there")

        host.adapter.before = before

    def test_r34_at_the_start_it_is_logged_and_the_service_is_up(self, host, caplog):
        host.start(prepare=self.unreachable)
        assert isinstance(host.outcome.failures[host.name], ConnectFailure)
        assert "Error updating resources" in caplog.text

    def test_r34_the_next_update_makes_everything(self, host, outsider):
        host.start(prepare=self.unreachable)
        host.adapter.before = None
        assert host.update().failures == {}
        assert tree_of(outsider, host) == {host.name: host.uuid}
        assert outsider.totals(host.uuid) == ROOT_INVENTORY

    @BOTH_WAYS
    def test_during_the_reshape_it_ends_the_service(self, flat_host, outsider, request_url, count):
        def prepare(host):
            def before(method, url):
                if url == request_url.format(host.uuid):
                    raise ConnectFailure("nobody there")

            host.adapter.before = before

        with pytest.raises(exceptions.ReshapeFailed):
            flat_host.start(NestingDriver, prepare=prepare)
        assert unchanged(outsider, flat_host)
