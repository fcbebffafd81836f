"""An adoption is interrupted, or somebody acts while it is under way."""

import contextlib

import pytest

from compute.maintenance.adopt.adoption import Adoption
from compute.maintenance.adopt.adoption_reads import Identity
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.transport import Transport
from tests.functional.compute.maintenance.adopted import (
    NEW,
    NOTHING,
    OLD,
    PROVISIONAL,
    STEPS,
    STOCK,
    Killed,
    adopt,
    check,
    dying,
    host,
    kills,
    outsider,
)

__all__ = ["host", "outsider"]

pytestmark = pytest.mark.spread_over_databases("sqlite")


@pytest.mark.parametrize(("number", "done"), list(kills(len(STEPS))))
def test_an_interrupted_run_is_completed_by_the_next(
    site, outsider, host, monkeypatch, number, done
):
    left = [number]
    with monkeypatch.context() as patched:
        for verb in ("put", "post", "delete"):
            patched.setattr(Transport, verb, dying(getattr(Transport, verb), left, done))
        with pytest.raises(Killed):
            adopt(site)

    assert adopt(site).code == 0
    check(outsider, host)


class TestMeanwhile:
    """Somebody acts just before a write."""

    @pytest.fixture
    def before(self, site, outsider, host, monkeypatch):
        """Return a function that adopts, with `act` called before the writes to a path."""

        def run(verb, path, act, times=1, others=None):
            send, met, acts = getattr(Transport, verb), [], {path: act, **(others or {})}

            def meet(client, url, *args, **kwargs):
                if args[:1] != (NOTHING,) and url in acts and met.count(url) < times:
                    met.append(url)
                    acts[url]()
                return send(client, url, *args, **kwargs)

            monkeypatch.setattr(Transport, verb, meet)
            site.configure(more="[berth]\nconflict_retry_time = 0\n")
            ended = adopt(site, "--json")
            assert len(met) == times * len(acts)
            return ended

        return run

    def test_a_claim_on_the_old_provider_comes_along(self, outsider, host, before):
        late = []

        def claim():
            late.append(outsider.allocate({OLD: {"VCPU": 1}}))

        assert before("post", "/reshaper", claim).code == 0
        check(outsider, host)
        assert outsider.allocations(late[0]) == {NEW: {"VCPU": 1}}

    def test_a_consumer_that_leaves_is_left_out(self, outsider, host, before):
        def leave():
            outsider.call("DELETE", f"/allocations/{host['a']}")

        assert before("post", "/reshaper", leave).code == 0
        assert outsider.allocations(host["a"]) == {}
        assert not outsider.exists(OLD)

    @pytest.mark.parametrize(
        ("verb", "path"),
        [
            ("put", f"/resource_providers/{NEW}"),
            ("post", "/resource_providers"),
            ("put", f"/resource_providers/{NEW}/traits"),
            ("post", "/reshaper"),
            ("delete", f"/resource_providers/{OLD}"),
        ],
        ids=["rename", "create", "traits", "reshape", "delete"],
    )
    def test_another_run_that_is_quicker_is_no_obstacle(
        self, site, outsider, host, before, verb, path
    ):
        def overtake():
            with site.adapter() as adapter:
                client = SchedulerReportClient(adapter)
                identity = Identity("host1", NEW, "host1")
                Adoption(client, admin_context(), identity).run(lambda step: None)

        assert before(verb, path, overtake).code == 0
        check(outsider, host)

    def test_the_old_agent_that_reports_again_and_its_new_guest_come_along(
        self, outsider, host, before
    ):
        late = []

        def report():
            outsider.set_inventory(OLD, STOCK)
            late.append(outsider.allocate({OLD: {"VCPU": 1}}))

        assert before("delete", f"/resource_providers/{OLD}", report).code == 0
        check(outsider, host)
        assert outsider.allocations(late[0]) == {NEW: {"VCPU": 1}}

    def test_an_old_agent_that_never_rests_is_3_and_the_run_after_it_stopped_completes(
        self, site, outsider, host, before, monkeypatch
    ):
        def report():
            outsider.set_inventory(OLD, STOCK)
            with contextlib.suppress(AssertionError):
                outsider.allocate({OLD: {"VCPU": 1}})

        ended = before("delete", f"/resource_providers/{OLD}", report, times=4)

        assert (ended.code, ended.err.count("\n")) == (3, 1)
        assert "Stop the agent that reports the earlier provider" in ended.err
        monkeypatch.undo()
        assert adopt(site).code == 0
        check(outsider, host)

    def test_what_somebody_wrote_to_a_new_provider_first_stays(self, outsider, host, before):
        def create():
            outsider.provider(PROVISIONAL, None, {"VCPU": {"total": 8}}, ["CUSTOM_OWN"], uuid=NEW)

        assert before("post", "/resource_providers", create).code == 0
        assert not outsider.exists(OLD)
        assert outsider.totals(NEW) == {"VCPU": 8, "MEMORY_MB": 65536}
        assert outsider.traits(NEW) == {"CUSTOM_OWN", "CUSTOM_GOLD"}
        assert outsider.allocations(host["moving"]) == {NEW: {"VCPU": 1}}

    def test_the_new_agent_that_reports_before_the_reshape_is_no_obstacle(
        self, outsider, host, before
    ):
        def report():
            outsider.set_inventory(NEW, {"VCPU": {"total": 32}, "DISK_GB": {"total": 9}})
            outsider.set_traits(NEW, outsider.traits(NEW) | {"CUSTOM_OWN"})

        assert before("post", "/reshaper", report).code == 0
        assert outsider.totals(NEW) == {"VCPU": 32, "DISK_GB": 9, "MEMORY_MB": 65536}
        assert outsider.traits(NEW) == {"CUSTOM_OWN", "CUSTOM_GOLD"}

    def test_a_claim_that_takes_the_room_in_the_new_provider_is_no_obstacle(
        self, outsider, host, before
    ):
        late = []

        def create():
            outsider.provider(PROVISIONAL, None, {"VCPU": {"total": 8}}, uuid=NEW)

        def claim():
            late.append(outsider.allocate({NEW: {"VCPU": 7}}))

        ended = before("post", "/resource_providers", create, others={"/reshaper": claim})

        assert ended.code == 0
        assert outsider.allocations(late[0]) == {NEW: {"VCPU": 7}}
        assert outsider.allocations(host["moving"]) == {NEW: {"VCPU": 1}}
        assert not outsider.exists(OLD)

    def test_a_trait_that_comes_while_traits_are_added_stays(self, outsider, host, before):
        def add():
            outsider.set_traits(NEW, ["CUSTOM_OWN"])

        assert before("put", f"/resource_providers/{NEW}/traits", add).code == 0
        assert outsider.traits(NEW) == {"CUSTOM_OWN", "CUSTOM_GOLD"}

    def test_a_third_provider_that_takes_the_name_is_refused_by_its_uuid(
        self, site, outsider, host, before, monkeypatch
    ):
        thief = []

        def steal():
            thief.append(outsider.provider("host1"))

        ended = before("put", f"/resource_providers/{NEW}", steal)

        assert (ended.code, ended.err.count("\n")) == (4, 1)
        assert thief[0] in ended.err
        assert outsider.allocations(host["moving"]) == {NEW: {"VCPU": 1}}
        assert outsider.exists(thief[0])
        monkeypatch.undo()
        outsider.call("PUT", f"/resource_providers/{thief[0]}", {"name": "another"})
        assert adopt(site).code == 0
        check(outsider, host)
