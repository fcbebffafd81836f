"""`audit` tells which guests of this host hold less than their flavors ask for, or more."""

import pytest

from compute.maintenance.audit.grace import Grace
from tests.functional.compute.maintenance.healed import flavor, held, uuids, with_gpu
from tests.functional.compute.maintenance.site import HOST
from virt.fake import FakeNUMAReshapeDriver

NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def site(sqlite_site):
    """Use SQLite alone: the rules are about guests, not about databases."""
    sqlite_site.configure("fake.FakeNUMAReshapeDriver")
    return sqlite_site


@pytest.fixture
def allocate(site):
    """Return a function that allocates: suffix of a provider → class → amount."""
    root = site.started(FakeNUMAReshapeDriver)
    names = uuids(site, root)

    def made(consumer, parts):
        with site.placement() as outsider:
            outsider.allocate(
                {names[HOST + suffix]: part for suffix, part in parts.items()}, consumer
            )

    return made


DISK = {"DISK_GB": 10}
CELL = {"VCPU": 2, "MEMORY_MB": 1024}


def test_who_holds_all_is_not_told(site, allocate):
    allocate(site.guest(flavor=flavor()), {"": DISK, "_numa1": CELL})
    ended = site.run("audit", "--json")
    assert (ended.code, ended.json["lacking"]) == (0, [])


@pytest.mark.parametrize(
    ("made", "parts", "lacks"),
    [
        (flavor(), {"": DISK}, {"VCPU": 2, "MEMORY_MB": 1024}),
        (flavor(), {"": DISK, "_numa0": {**CELL, "VCPU": 1}}, {"VCPU": 1}),
        (with_gpu(), {"": DISK, "_numa0": CELL}, {"VGPU": 1}),
        (
            # a group comes from one provider
            flavor(**{"resources1:VCPU": "2"}),
            {"": DISK, "_numa0": {**CELL, "VCPU": 1}, "_numa1": {"VCPU": 1}},
            {"VCPU": 2},
        ),
    ],
)
def test_what_lacks_is_told_class_by_class_and_group_by_group(site, allocate, made, parts, lacks):
    instance = site.guest(flavor=made)
    allocate(instance, parts)
    ended = site.run("audit", "--json")
    assert ended.json["lacking"] == [{"instance": instance, "node": HOST, "lacking": lacks}]
    told = site.run("audit")
    assert (told.code, f"Instance {instance} on {HOST} lacks" in told.out) == (3, True)


def test_what_is_too_much_is_told_and_heal_leaves_it(site, allocate):
    instance = site.guest(flavor=flavor())
    allocate(instance, {"": DISK, "_numa0": {**CELL, "VCPU": 3}, "_numa1": {"MEMORY_MB": 9}})
    surplus = {"VCPU": 1, "MEMORY_MB": 9}
    found = site.run("audit", "--json")
    assert found.json["surplus"] == [{"instance": instance, "node": HOST, "surplus": surplus}]
    assert (found.code, found.json["lacking"]) == (0, [])
    told = site.run("audit").out
    assert f"Instance {instance} on {HOST} holds" in told
    before = held(site, instance)
    healed = site.run("heal_allocations", "--json")
    assert (healed.code, held(site, instance)) == (4, before)
    assert healed.json["instances"][0]["surplus"] == surplus
    assert "too much: --force with --instance replaces" in site.run("heal_allocations").out
    assert site.run("heal_allocations", "--instance", instance, "--force").code == 0
    assert site.run("audit", "--json").json["surplus"] == []


def test_who_is_worked_on_is_not_judged(site, allocate):
    site.guest(flavor=flavor(), task_state="rebuilding")
    assert site.run("audit", "--json").json["lacking"] == []


def test_who_is_of_another_host_is_not_judged(site, allocate):
    site.guest(flavor=flavor(), vm_state="active", host="host2", node="host2")
    assert site.run("audit", "--all") == (0, "", "")


def test_what_lacks_is_still_to_be_done_when_all_leftovers_are_deleted(site, allocate):
    instance = site.guest(flavor=flavor())
    allocate(instance, {"": DISK, "_numa0": CELL})
    allocate(NOBODY, {"": DISK})
    assert site.run("audit", "--delete").code == 4
    allocate(NOBODY, {"": DISK})
    allocate(instance, {"": DISK})
    ended = site.run("audit", "--delete", "--json")
    assert ended.code == 3
    assert [one["deleted"] for one in ended.json["allocations"]] == [True]
    assert [one["instance"] for one in ended.json["lacking"]] == [instance]
    assert (
        site.run(
            "audit", "--resource_provider", site.start_service_once(FakeNUMAReshapeDriver)
        ).code
        == 0
    )


def test_what_lacks_in_one_look_alone_is_not_counted(site, allocate, monkeypatch):
    """Its scheduler or its agent was about to write it."""
    instance = site.guest(flavor=flavor())
    other = site.guest(flavor=flavor())
    allocate(instance, {"": DISK})

    def later(seconds):
        allocate(other, {"": DISK, "_numa0": CELL})
        clock.append(clock[-1] + seconds)

    clock = [0.0]
    monkeypatch.setattr("compute.cli.commands.audit.time.sleep", later)
    monkeypatch.setattr(Grace.__init__, "__defaults__", (lambda: clock[-1],))
    ended = site.run("audit", "--grace", "600", "--json")
    assert ended.code == 3
    assert [one["instance"] for one in ended.json["lacking"]] == [instance]
    assert "0 allocations, 2 guests with too little or too much;" in ended.err
    allocate(instance, {"": DISK, "_numa1": CELL})
    assert site.run("audit", "--grace", "600").code == 0


def test_heal_mends_what_is_told(site, allocate):
    instance = site.guest(flavor=flavor())
    allocate(instance, {"": DISK})
    assert site.run("heal_allocations").code == 0
    assert len(held(site, instance)) == 2
    assert site.run("audit", "--json").json["lacking"] == []
