"""What is over capacity is adopted as it is, and no room comes up meanwhile."""

import contextlib

import pytest
from keystoneauth1.exceptions import ConnectFailure

from compute.exceptions import InvalidConfiguration
from compute.maintenance.adopt.adoption import Adoption
from compute.records.node_identity import FILE_NAME
from compute.report.wire.transport import Transport
from tests.functional.compute.maintenance.adopted import (
    NEW,
    OLD,
    Killed,
    adopt,
    dying,
    host,
    kills,
    outsider,
)
from virt.fake import MediumFakeDriver

__all__ = ["host", "outsider"]

pytestmark = pytest.mark.spread_over_databases("sqlite")


def test_what_is_over_capacity_moves_and_stays_over_capacity(site, outsider, host):
    outsider.set_inventory(OLD, {"VCPU": {"total": 2}, "MEMORY_MB": {"total": 65536}})

    found = adopt(site, "--json")

    assert (found.code, found.err) == (0, "")
    assert [step["step"] for step in found.json["steps"]][-3:] == ["delete", "rename", "inventory"]
    assert outsider.totals(NEW)["VCPU"] == 2
    assert outsider.allocations(host["b"])[NEW] == {"VCPU": 4}


class TestOverCapacity:
    """VCPU was lowered to 18, and 24 are held: the reshape needs room for them, and no more."""

    LOWERED = {"VCPU": {"total": 8, "reserved": 2, "allocation_ratio": 3.0, "max_unit": 8}}

    @pytest.fixture
    def guests(self, outsider):
        outsider.provider("host1", None, {"VCPU": {"total": 16, "allocation_ratio": 2.0}}, uuid=OLD)
        guests = [outsider.allocate({OLD: {"VCPU": 8}}) for _ in range(3)]
        outsider.set_inventory(OLD, self.LOWERED)
        return guests

    @pytest.fixture
    def check(self, outsider, guests):
        def check(expected=self.LOWERED["VCPU"]):
            record = outsider.inventory(NEW)
            assert {name: record["VCPU"][name] for name in expected} == expected
            assert record.keys() == {"VCPU"}
            for guest in guests:
                assert outsider.allocations(guest) == {NEW: {"VCPU": 8}}
            assert not outsider.exists(OLD)

        return check

    @pytest.fixture
    def killed(self, site, monkeypatch):
        """Return a function that kills a run before or after its nth write."""

        def killed(number, done):
            left = [number]
            with monkeypatch.context() as patched:
                for verb in ("put", "post", "delete"):
                    patched.setattr(Transport, verb, dying(getattr(Transport, verb), left, done))
                with pytest.raises(Killed):
                    adopt(site)

        return killed

    @staticmethod
    def claimed(outsider):
        """Whether somebody gets a processor of the host."""
        with contextlib.suppress(AssertionError):
            outsider.allocate({NEW: {"VCPU": 1}})
            return True
        return False

    @pytest.mark.parametrize(("number", "done"), list(kills(6)))
    def test_no_room_comes_up_whenever_it_is_killed(
        self, site, outsider, guests, check, killed, number, done
    ):
        killed(number, done)

        assert not self.claimed(outsider)
        assert adopt(site).code == 0
        check()
        assert not self.claimed(outsider)

    def test_a_lost_answer_is_made_up_for(self, site, outsider, guests, check, monkeypatch):
        send = Transport.post

        def lost(client, url, *args, **kwargs):
            answer = send(client, url, *args, **kwargs)
            if url == "/reshaper":
                raise ConnectFailure("the answer is lost")
            return answer

        with monkeypatch.context() as patched:
            patched.setattr(Transport, "post", lost)
            assert adopt(site).code == 1
        assert adopt(site).code == 0
        check()

    def test_a_claim_while_it_is_under_way_is_refused(self, site, outsider, guests, check):
        seen = []
        run = Adoption.run

        def stepwise(adoption, done):
            def claim(step):
                seen.append(self.claimed(outsider))
                done(step)

            run(adoption, claim)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Adoption, "run", stepwise)
            assert adopt(site).code == 0
        assert seen == [False] * len(seen)
        check()

    def test_the_agent_ends_what_a_killed_run_left(self, site, outsider, guests, killed):
        killed(4, True)
        assert outsider.shown(NEW)["name"] == "host1"
        assert outsider.inventory(NEW).keys() == {"VCPU", "CUSTOM_BERTH_KEPT_VCPU"}
        (site.state / FILE_NAME).write_text(NEW)

        site.start_service_once(MediumFakeDriver)

        found = outsider.inventory(NEW)
        assert found.keys() == {"VCPU", "MEMORY_MB", "DISK_GB"}
        assert found["VCPU"]["allocation_ratio"] == 3.0
        assert found["VCPU"]["total"] == MediumFakeDriver.vcpus
        assert adopt(site).code == 0
        assert outsider.inventory(NEW) == found

    def test_the_agent_does_not_report_a_root_that_has_not_all_yet(
        self, site, outsider, guests, killed
    ):
        killed(0, True)
        (site.state / FILE_NAME).write_text(NEW)

        with pytest.raises(InvalidConfiguration, match="is being adopted"):
            site.start_service_once(MediumFakeDriver)

        assert outsider.inventory(NEW) == {}
        assert adopt(site).code == 0

    def test_what_an_operator_wrote_meanwhile_stays(self, site, outsider, guests, killed, check):
        killed(3, True)
        url = f"/resource_providers/{NEW}/inventories/VCPU"
        wanted = {"total": 30, "reserved": 1}
        generation = outsider.generation(NEW)
        outsider.call("PUT", url, {**wanted, "resource_provider_generation": generation})

        assert adopt(site).code == 0

        check(wanted)
