"""A host that came back under another uuid, or another name, gets what its earlier provider has."""

import contextlib

import pytest
from keystoneauth1.exceptions import ConnectFailure

from compute.exceptions import InvalidConfiguration
from compute.maintenance.adopt.adoption import Adoption
from compute.maintenance.adopt.adoption_reads import Identity
from compute.records.node_identity import FILE_NAME
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.transport import Transport
from tests.functional.compute.maintenance.http_service import described, serving
from virt.fake import MediumFakeDriver

pytestmark = pytest.mark.spread_over_databases

OLD, NEW, RACK = (f"{letter * 8}-0000-4000-8000-000000000001" for letter in "abc")
#: what versions before this one called OLD meanwhile, and what this one calls NEW
MARK, PROVISIONAL = f"replaced-by-{NEW}", f"adopting-{OLD}"
STOCK = {
    "VCPU": {"total": 16, "allocation_ratio": 4.0},
    "MEMORY_MB": {"total": 65536, "reserved": 512},
}
CELL = {"CUSTOM_CELL": {"total": 8}}


#: what asks placement whether the user may reshape
NOTHING = {"inventories": {}, "allocations": {}}


def build(outsider, name="host1", uuid=OLD):
    """Make a host with a cell below a cell, a shared pool, and three consumers; what they are."""
    root = outsider.provider(name, None, STOCK, ["CUSTOM_GOLD"], [RACK], uuid)
    cell = outsider.provider(f"{name}_numa0", root, CELL, ["CUSTOM_CELL_TRAIT"])
    deep = outsider.provider(f"{name}_numa0_gpu", cell, {"VGPU": {"total": 4}})
    pool = outsider.provider(
        f"pool-of-{name}",
        inventory={"DISK_GB": {"total": 100}},
        traits=["MISC_SHARES_VIA_AGGREGATE"],
        aggregates=[RACK],
    )
    return {
        "cell": cell,
        "deep": deep,
        "pool": pool,
        "a": outsider.allocate({root: {"VCPU": 2, "MEMORY_MB": 1024}, pool: {"DISK_GB": 5}}),
        "b": outsider.allocate({root: {"VCPU": 4}, cell: {"CUSTOM_CELL": 1}, deep: {"VGPU": 1}}),
        "moving": outsider.allocate({root: {"VCPU": 1}}, consumer_type="MIGRATION"),
    }


@pytest.fixture
def outsider(site):
    with site.placement() as outsider:
        yield outsider


@pytest.fixture
def host(outsider):
    return build(outsider)


def adopt(site, *more, name="host1"):
    return site.run("adopt_provider", "--name", name, "--uuid", NEW, *more)


def check(outsider, host, name="host1"):
    """All is below the new root, once, and nothing is left of the old."""
    tree = outsider.call("GET", f"/resource_providers?in_tree={NEW}")["resource_providers"]
    parents = {row["name"]: row["parent_provider_uuid"] for row in tree}
    assert parents == {name: None, f"{name}_numa0": NEW, f"{name}_numa0_gpu": host["cell"]}
    assert {row["uuid"] for row in tree} == {NEW, host["cell"], host["deep"]}
    assert not outsider.exists(OLD)
    assert outsider.totals(NEW) == {"VCPU": 16, "MEMORY_MB": 65536}
    assert outsider.inventory(NEW)["VCPU"]["allocation_ratio"] == 4.0
    assert outsider.traits(NEW) == {"CUSTOM_GOLD"}
    assert outsider.aggregates(NEW) == {RACK}
    assert outsider.allocations(host["a"]) == {
        NEW: {"VCPU": 2, "MEMORY_MB": 1024},
        host["pool"]: {"DISK_GB": 5},
    }
    assert outsider.allocations(host["b"]) == {
        NEW: {"VCPU": 4},
        host["cell"]: {"CUSTOM_CELL": 1},
        host["deep"]: {"VGPU": 1},
    }
    assert outsider.allocations(host["moving"]) == {NEW: {"VCPU": 1}}
    known = outsider.call("GET", f"/allocations/{host['moving']}")
    assert known["consumer_type"] == "MIGRATION"


STEPS = ["create", "traits", "aggregates", "reshape", "child", "delete", "rename"]


def test_a_rebuilt_host_gets_all_that_its_provider_has(site, outsider, host):
    found = adopt(site, "--json")

    assert (found.code, found.err) == (0, "")
    assert [step["step"] for step in found.json["steps"]] == STEPS
    check(outsider, host)


def test_a_second_run_has_nothing_to_do(site, outsider, host):
    told = adopt(site)
    assert told.code == 0
    assert told.out.splitlines()[0] == f"Provider {NEW} is called {PROVISIONAL}."
    before = site.rows()

    again = adopt(site)

    assert (again.code, again.err) == (0, "")
    assert again.out == f"host1 is provider {NEW} already: nothing to do.\n"
    assert site.rows() == before


def test_a_dry_run_tells_the_same_steps_and_writes_nothing(site, outsider, host):
    before = site.rows()

    ended = adopt(site, "--dry-run")

    assert site.rows() == before
    dry = [line.removeprefix("[dry-run] ") for line in ended.out.splitlines()]
    assert dry == adopt(site).out.splitlines()


def test_a_run_of_an_older_version_that_was_interrupted_is_completed(site, outsider, host):
    """It had taken the name from the earlier root."""
    outsider.call("PUT", f"/resource_providers/{OLD}", {"name": MARK})

    assert adopt(site).code == 0
    check(outsider, host)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("done", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("number", range(len(STEPS)))
def test_an_interrupted_run_is_completed_by_the_next(
    site, outsider, host, monkeypatch, number, done
):
    left = [number]
    with monkeypatch.context() as patched:
        for verb in ("put", "post", "delete"):
            patched.setattr(Transport, verb, _dying(getattr(Transport, verb), left, done))
        with pytest.raises(Killed):
            adopt(site)

    assert adopt(site).code == 0
    check(outsider, host)


def _dying(send, left, done):
    def die(client, url, *args, **kwargs):
        if args[:1] == (NOTHING,):
            return send(client, url, *args, **kwargs)
        if left[0] < 0:
            raise Killed
        if left[0] == 0 and not done:
            left[0] = -1
            raise Killed
        answer = send(client, url, *args, **kwargs)
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return answer

    return die


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


class TestAnotherName:
    """The host is called by its full name now, or by the short one."""

    def test_all_goes_to_the_new_name_with_the_names_of_children(self, site, outsider):
        host = build(outsider, "host1.example.org")

        ended = adopt(site, "--as", "host1", name="host1.example.org")

        assert (ended.code, ended.err) == (0, "")
        check(outsider, host, "host1")

    def test_what_the_new_agent_has_reported_takes_over(self, site, outsider):
        host = build(outsider, "host1")
        full = "host1.example.org"
        outsider.provider(full, None, STOCK, uuid=NEW)
        cell = outsider.provider(f"{full}_numa0", NEW, CELL)
        guest = outsider.allocate({NEW: {"VCPU": 1}, cell: {"CUSTOM_CELL": 2}})

        ended = adopt(site, "--as", full)

        assert (ended.code, ended.err) == (0, "")
        assert outsider.allocations(host["b"]) == {
            NEW: {"VCPU": 4},
            cell: {"CUSTOM_CELL": 1},
            host["deep"]: {"VGPU": 1},
        }
        assert outsider.allocations(guest) == {NEW: {"VCPU": 1}, cell: {"CUSTOM_CELL": 2}}
        assert outsider.traits(cell) == {"CUSTOM_CELL_TRAIT"}
        assert outsider.shown(host["deep"])["parent_provider_uuid"] == cell
        assert not outsider.exists(host["cell"])
        assert not outsider.exists(OLD)

    @pytest.mark.parametrize("held", [False, True], ids=["burned", "held"])
    def test_a_used_device_for_one_use_stays_reserved_under_the_new_name(
        self, site, outsider, held
    ):
        """The agent reported it anew by its new name, and doesn't know that it was used."""
        card, trait = {"CUSTOM_CARD": {"total": 1}}, ["HW_PCI_ONE_TIME_USE"]
        full = "host1.example.org"
        used = outsider.provider("host1_card", outsider.provider("host1", uuid=OLD), card, trait)
        if held:
            guest = outsider.allocate({used: {"CUSTOM_CARD": 1}})
        outsider.set_inventory(used, {"CUSTOM_CARD": {"total": 1, "reserved": 1}})
        outsider.provider(full, uuid=NEW)
        device = outsider.provider(f"{full}_card", NEW, card, trait)

        assert adopt(site, "--as", full).code == 0

        assert outsider.inventory(device)["CUSTOM_CARD"]["reserved"] == 1
        if held:
            assert outsider.allocations(guest) == {device: {"CUSTOM_CARD": 1}}

    @pytest.mark.parametrize("amounts", [(3, 2), (2, 3), (3, 3)], ids=str)
    def test_what_a_guest_holds_of_both_roots_counts_once(self, site, outsider, amounts):
        """Both agents wrote it, each under its own name."""
        full = "host1.example.org"
        stock = {"VCPU": {"total": 4}, "MEMORY_MB": {"total": 512}}
        outsider.provider("host1", None, stock, uuid=OLD)
        outsider.provider(full, None, {**stock, "DISK_GB": {"total": 9}}, uuid=NEW)
        both = outsider.allocate(
            {
                OLD: {"VCPU": amounts[0], "MEMORY_MB": 256},
                NEW: {"VCPU": amounts[1], "DISK_GB": 5},
            }
        )
        told = adopt(site, "--as", full)

        assert told.code == 0
        assert "1 consumer are moved; what 1 of them holds of both counts once." in told.out
        assert outsider.allocations(both) == {NEW: {"VCPU": 3, "MEMORY_MB": 256, "DISK_GB": 5}}
        assert outsider.totals(NEW) == {"VCPU": 4, "MEMORY_MB": 512, "DISK_GB": 9}

    def test_also_what_the_new_agent_has_on_cells(self, site, outsider):
        full = "host1.example.org"
        outsider.provider("host1", None, {"VCPU": {"total": 8}}, uuid=OLD)
        outsider.provider(full, uuid=NEW)
        cells = [outsider.provider(f"{full}_{n}", NEW, {"VCPU": {"total": 4}}) for n in "ab"]
        both = outsider.allocate({OLD: {"VCPU": 4}, **{cell: {"VCPU": 2} for cell in cells}})

        assert adopt(site, "--as", full).code == 0

        assert outsider.allocations(both) == {cell: {"VCPU": 2} for cell in cells}

    def test_an_interrupted_run_may_be_ended_with_another_name(self, site, outsider, host):
        outsider.call("PUT", f"/resource_providers/{OLD}", {"name": MARK})
        outsider.provider("host1", uuid=NEW)

        assert adopt(site, "--as", "host1.example.org").code == 0

        check(outsider, host, "host1.example.org")

    def test_a_host_that_kept_its_uuid_is_renamed_with_its_children(self, site, outsider):
        root = outsider.provider("host1", uuid=NEW)
        child = outsider.provider("host1_numa0", root)

        ended = adopt(site, "--as", "host1.example.org")

        assert ended.code == 0
        names = {outsider.shown(uuid)["name"] for uuid in (root, child)}
        assert names == {"host1.example.org", "host1.example.org_numa0"}

    def test_a_name_that_begins_like_a_childs_is_given_once(self, site, outsider):
        root = outsider.provider("host1", uuid=NEW)
        child = outsider.provider("host1_numa0", root)

        for _ in range(2):
            assert adopt(site, "--as", "host1_a").code == 0

        assert outsider.shown(child)["name"] == "host1_a_numa0"

    def test_a_name_that_differs_in_case_alone_is_another(self, site, outsider):
        outsider.provider("host1_numa0", outsider.provider("host1", uuid=OLD))

        assert adopt(site, "--as", "HOST1").code == 0

        assert outsider.shown(NEW)["name"] == "HOST1"


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
                    patched.setattr(Transport, verb, _dying(getattr(Transport, verb), left, done))
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

    @pytest.mark.parametrize("done", [True, False], ids=["after", "before"])
    @pytest.mark.parametrize("number", range(6))
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


def test_a_device_for_one_use_moves_with_its_guest(site, outsider, host):
    device = outsider.provider(
        "host1_card", OLD, {"CUSTOM_CARD": {"total": 1}}, ["HW_PCI_ONE_TIME_USE"]
    )
    outsider.allocate({OLD: {"VCPU": 1}, device: {"CUSTOM_CARD": 1}}, host["moving"])
    outsider.set_inventory(device, {"CUSTOM_CARD": {"total": 1, "reserved": 1}})

    assert adopt(site).code == 0

    assert outsider.allocations(host["moving"]) == {NEW: {"VCPU": 1}, device: {"CUSTOM_CARD": 1}}
    assert outsider.inventory(device)["CUSTOM_CARD"]["reserved"] == 1


def test_an_empty_provider_is_replaced_without_a_reshape(site, outsider):
    outsider.provider("host1", uuid=OLD)

    found = adopt(site, "--json")

    assert [step["step"] for step in found.json["steps"]] == ["create", "delete", "rename"]
    assert outsider.shown(NEW)["name"] == "host1"


class TestRefused:
    """Nothing is changed."""

    @pytest.fixture(autouse=True)
    def unchanged(self, site, host):
        before = site.rows()
        yield
        assert site.rows() == before

    @pytest.mark.parametrize(
        ("arguments", "code", "told"),
        [
            (("--name", "nobody", "--uuid", NEW), 2, "nobody"),
            (("--name", "nobody", "--uuid", NEW, "--as", "host1"), 2, "nobody"),
            (("--name", "host1_numa0", "--uuid", NEW), 4, "is a child"),
            (("--name", "host1", "--uuid", "me"), 127, "takes a uuid"),
            (("--name", "", "--uuid", NEW), 127, "1 to 200"),
            (("--name", "host1", "--uuid", NEW, "--as", "x" * 201), 127, "1 to 200"),
        ],
        ids=["unknown", "unknown as", "child", "no uuid", "no name", "long"],
    )
    def test_what_cannot_be_adopted_is_told_in_a_line(self, site, arguments, code, told):
        ended = site.run("adopt_provider", *arguments)

        assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
        assert told in ended.err

    @pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=["run", "dry run"])
    @pytest.mark.parametrize(
        ("uuid", "wanted"), [(NEW, "pool-of-host1"), (OLD, "host1_numa0")], ids=["root", "child"]
    )
    def test_a_name_of_another_provider_is_refused(self, site, host, uuid, wanted, more):
        ended = site.run("adopt_provider", "--name", "host1", "--uuid", uuid, "--as", wanted, *more)

        assert (ended.code, ended.out, ended.err.count("\n")) == (4, "", 1)
        assert wanted in ended.err

    @pytest.mark.parametrize("which", ["cell", "pool"])
    def test_the_uuid_of_another_provider_is_refused(self, site, host, which):
        ended = site.run("adopt_provider", "--name", "host1", "--uuid", host[which])

        assert (ended.code, ended.err.count("\n")) == (4, 1)


@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=["run", "dry run"])
def test_who_may_not_reshape_is_told_so_before_anything_is_written(site, outsider, host, more):
    """Administrators may do all but a reshape."""
    before = site.rows()
    with serving(site.url, roles=["admin"]) as url:
        site.configure(more=described(url))
        ended = adopt(site, "--http", *more)

    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "403" in ended.err
    assert "needs the role service" in ended.err
    assert site.rows() == before


def test_who_may_not_reshape_may_adopt_what_needs_none(site, outsider):
    outsider.provider("host1", uuid=OLD)
    with serving(site.url, roles=["admin"]) as url:
        site.configure(more=described(url))
        assert adopt(site, "--http").code == 0
    assert not outsider.exists(OLD)


def test_a_running_service_without_extensions_does_the_same(site, outsider, host, monkeypatch):
    monkeypatch.setenv("OS_BERTH__EXTENSIONS", "false")
    with serving(site.url, roles=["admin", "service"]) as url:
        site.configure(more=described(url))
        assert adopt(site, "--http").code == 0
    check(outsider, host)
