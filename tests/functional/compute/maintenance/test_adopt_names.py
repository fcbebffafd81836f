"""A host that came back gets what its earlier provider has, under another name, too."""

import pytest

from tests.functional.compute.maintenance.adopted import (
    CELL,
    MARK,
    NEW,
    OLD,
    STOCK,
    adopt,
    build,
    check,
    host,
    outsider,
)

__all__ = ["host", "outsider"]

pytestmark = pytest.mark.spread_over_databases("sqlite")


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
