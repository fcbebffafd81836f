"""A start-up reshape that other writers outrun (compute.md §9.3)."""

import pytest

from compute import exceptions
from tests.functional.compute.compute_host import NestingDriver
from tests.functional.compute.flat_host import (
    BOTH_WAYS,
    RESHAPER,
    held_of,
    tree_of,
    unchanged,
)
from tests.patience import PATIENCE


@BOTH_WAYS
class TestConflicts:
    """R10, R11."""

    def racing(self, outsider, url, times):
        """Have somebody else start an instance just before each of `times` requests to `url`."""
        left = [url] * times

        def prepare(host):
            def before(method, requested):
                if left and method != "GET" and requested == left[0].format(host.uuid):
                    left.pop()
                    outsider.allocate({host.uuid: {"DISK_GB": 1}})

            host.adapter.before = before

        return prepare

    def update_url(self, request_url):
        """Return the URL to which an update without a reshape sends the inventory."""
        return "/resource_providers/{}/inventories" if request_url == RESHAPER else request_url

    def test_r10_a_reshape_that_others_outrun_twice_succeeds_the_third_time(
        self, flat_host, outsider, request_url, count
    ):
        flat_host.start(NestingDriver, prepare=self.racing(outsider, request_url, 2))
        assert count(flat_host) == 3
        assert (
            flat_host.driver.asked
            == [
                (flat_host.name, []),
                (flat_host.name, ["allocations"]),
            ]
            * 3
        )
        numa1 = tree_of(outsider, flat_host)[f"{flat_host.name}_numa1"]
        assert held_of(outsider, numa1) == {
            flat_host.first: {"VCPU": 1},
            flat_host.second: {"VCPU": 1},
        }

    def test_r10_a_reshape_that_others_outrun_four_times_ends_the_service(
        self, flat_host, outsider, request_url, count
    ):
        flat_host.conf.set_override("conflict_retry_time", 0, "berth")
        with pytest.raises(exceptions.ReshapeFailed):
            flat_host.start(NestingDriver, prepare=self.racing(outsider, request_url, 4))
        assert count(flat_host) == 4
        assert unchanged(outsider, flat_host)
        children = set(tree_of(outsider, flat_host).values()) - {flat_host.uuid}
        made = [{}, {}] if request_url == RESHAPER else []
        assert [outsider.totals(child) for child in children] == made

    def test_r10_with_time_left_a_reshape_that_others_outran_many_times_gets_through(
        self, flat_host, outsider, request_url, count
    ):
        flat_host.conf.set_override("conflict_retry_time", PATIENCE, "berth")
        flat_host.start(NestingDriver, prepare=self.racing(outsider, request_url, 9))
        assert count(flat_host) == 10
        assert outsider.totals(flat_host.uuid).keys() == {"DISK_GB"}

    def test_r11_an_update_that_others_always_outrun_is_given_up_and_logged(
        self, flat_host, outsider, caplog, request_url, count
    ):
        flat_host.conf.set_override("conflict_retry_time", 0, "berth")
        flat_host.start()
        flat_host.adapter.requests.clear()
        self.racing(outsider, self.update_url(request_url), 4)(flat_host)
        flat_host.driver.vcpus = 20
        outcome = flat_host.update()
        failure = outcome.failures[flat_host.name]
        assert isinstance(failure, exceptions.ResourceProviderUpdateConflict)
        puts = [sent for sent in flat_host.adapter.writes if sent[0] == "PUT"]
        assert len(puts) == 4
        assert "Error updating resources" in caplog.text

    def test_r11_and_the_next_update_works(self, flat_host, outsider, request_url, count):
        flat_host.conf.set_override("conflict_retry_time", 0, "berth")
        flat_host.start()
        self.racing(outsider, self.update_url(request_url), 4)(flat_host)
        flat_host.driver.vcpus = 20
        flat_host.update()
        assert flat_host.update().failures == {}
        assert outsider.totals(flat_host.uuid)["VCPU"] == 20

    def test_a_stale_generation_is_repaired_within_one_update(
        self, flat_host, outsider, request_url, count
    ):
        """compute.md §3.9.8: each allocation makes the cached generation stale."""
        flat_host.start()
        outsider.allocate({flat_host.uuid: {"DISK_GB": 1}})
        flat_host.driver.vcpus = 20
        assert flat_host.update().failures == {}
        assert outsider.totals(flat_host.uuid)["VCPU"] == 20
