"""An inventory that the agent lowers below its use (compute.md §4.5)."""

import pytest

from tests.functional.compute.flat_host import BOTH_WAYS

WARNING = "was lowered to"


@pytest.fixture
def told(caplog):
    """Return a function that gives the warnings since its last call."""

    def since():
        found = [record.getMessage() for record in caplog.records if WARNING in record.getMessage()]
        caplog.clear()
        return found

    return since


@BOTH_WAYS
class TestLoweredBelowItsUse:
    def test_it_is_written_and_warned_of_once(self, flat_host, outsider, told, request_url, count):
        flat_host.driver.memory_mb = 2048
        assert flat_host.update().failures == {}
        (warning,) = told()
        assert warning.startswith(f"MEMORY_MB of provider {flat_host.name} ({flat_host.uuid})")
        assert f"drain --host {flat_host.name} --plan" in warning
        assert outsider.totals(flat_host.uuid)["MEMORY_MB"] == 2048
        sent = len(flat_host.adapter.requests)
        for _ in range(3):
            assert flat_host.update().failures == {}
        assert told() == []
        assert not [url for _, url, _ in flat_host.adapter.requests[sent:] if "usages" in url]

    def test_the_service_starts_with_it_and_goes_on(
        self, flat_host, outsider, told, request_url, count
    ):
        flat_host.driver.memory_mb = 2048
        flat_host.update()
        outsider.call("DELETE", f"/allocations/{flat_host.first}")
        told()
        flat_host.start()
        assert (flat_host.outcome.failures, told()) == ({}, [])
        assert outsider.allocations(flat_host.second)[flat_host.uuid]["MEMORY_MB"] == 2048

    def test_lowered_while_others_claim_it_is_told_too(
        self, flat_host, outsider, told, request_url, count
    ):
        """Whoever is quicker: what is used is read after the write."""
        left = [flat_host.uuid]

        def claim(method, url):
            if left and method == "PUT":
                outsider.allocate({left.pop(): {"MEMORY_MB": 3000}})

        flat_host.adapter.before = claim
        flat_host.driver.memory_mb = 4096
        assert flat_host.update().failures == {}
        assert len(told()) == 1

    def test_lowered_above_its_use_is_no_warning(
        self, flat_host, outsider, told, request_url, count
    ):
        flat_host.driver.memory_mb = 4096
        assert flat_host.update().failures == {}
        assert told() == []

    def test_what_is_used_stays_unknown_if_it_cannot_be_read(
        self, flat_host, outsider, told, request_url, count, monkeypatch
    ):
        get = flat_host.adapter.get

        def refuse(url, *args, **kwargs):
            return get(url.replace("/usages", "/nothing"), *args, **kwargs)

        monkeypatch.setattr(flat_host.adapter, "get", refuse)
        flat_host.driver.memory_mb = 2048
        assert flat_host.update().failures == {}
        assert told() == []
