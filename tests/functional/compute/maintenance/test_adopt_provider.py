"""A host that came back under another uuid, or another name, gets what its earlier provider has."""

import pytest

from tests.functional.compute.maintenance.adopted import (
    MARK,
    NEW,
    OLD,
    PROVISIONAL,
    STEPS,
    adopt,
    check,
    host,
    outsider,
)
from tests.functional.compute.maintenance.http_service import described, serving
from tests.offenders import assert_each

__all__ = ["host", "outsider"]

pytestmark = pytest.mark.spread_over_databases("sqlite")


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

    @pytest.fixture
    def check(self, site, host):
        """Return a function that runs the command, and checks its code and what its line tells."""
        before = site.rows()

        def check(arguments, code, told):
            ended = site.run("adopt_provider", *arguments)
            assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
            assert told in ended.err
            assert site.rows() == before

        return check

    def test_what_cannot_be_adopted_is_told_in_a_line(self, check):
        cases = {
            "unknown": (("--name", "nobody", "--uuid", NEW), 2, "nobody"),
            "unknown as": (("--name", "nobody", "--uuid", NEW, "--as", "host1"), 2, "nobody"),
            "child": (("--name", "host1_numa0", "--uuid", NEW), 4, "is a child"),
            "no uuid": (("--name", "host1", "--uuid", "me"), 127, "takes a uuid"),
            "no name": (("--name", "", "--uuid", NEW), 127, "1 to 200"),
            "long": (("--name", "host1", "--uuid", NEW, "--as", "x" * 201), 127, "1 to 200"),
        }
        assert_each(cases, check)

    def test_a_name_of_another_provider_is_refused(self, check):
        cases = {
            f"{wanted} {more}": (
                ("--name", "host1", "--uuid", uuid, "--as", wanted, *more),
                4,
                wanted,
            )
            for uuid, wanted in ((NEW, "pool-of-host1"), (OLD, "host1_numa0"))
            for more in ((), ("--dry-run",))
        }
        assert_each(cases, check)

    def test_the_uuid_of_another_provider_is_refused(self, check, host):
        uuids = {which: host[which] for which in ("cell", "pool")}
        cases = {
            which: (("--name", "host1", "--uuid", uuid), 4, uuid) for which, uuid in uuids.items()
        }
        assert_each(cases, check)


def test_who_may_not_reshape_is_told_so_before_anything_is_written(site, outsider, host):
    """Administrators may do all but a reshape."""
    before = site.rows()
    with serving(site.url, roles=["admin"]) as url:
        site.configure(more=described(url))
        for more in ((), ("--dry-run",)):
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
