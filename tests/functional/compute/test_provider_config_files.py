"""The operator's provider configuration files (compute.md §4.8, §9.3: R28 to R30)."""

import pathlib

import pytest

from compute import exceptions
from tests.functional.compute.compute_host import (
    DetailedDriver,
    FreshPairDriver,
    nodes_uuid,
    writes_of_an_update,
)


def write_config(host, *entries, name="a.yaml"):
    """Write a file with entries: whom they are about, and what is added."""
    directory = pathlib.Path(host.conf.compute.provider_config_location)
    directory.mkdir(exist_ok=True)
    said = ", ".join(f"{{identification: {{{about}}}, {added}}}" for about, added in entries)
    (directory / name).write_text(f"meta: {{schema_version: '1.0'}}\nproviders: [{said}]\n")


def total(name, amount):
    return f"inventories: {{additional: [{{{name}: {{total: {amount}}}}}]}}"


def trait(name):
    return f"traits: {{additional: [{name}]}}"


class TestProviderConfig:
    def test_r28_a_nodes_own_entry_and_the_default_for_the_others(self, host, outsider):
        a = f"a-{host.name}"
        write_config(
            host,
            (f"name: {a}", f"{total('CUSTOM_X', 10)}, {trait('CUSTOM_T')}"),
            ("uuid: $COMPUTE_NODE", trait("CUSTOM_DEFAULT")),
        )
        host.start(FreshPairDriver)
        with_own, other = nodes_uuid(host, a), nodes_uuid(host, f"b-{host.name}")
        assert outsider.totals(with_own)["CUSTOM_X"] == 10
        assert "CUSTOM_T" in outsider.traits(with_own)
        assert "CUSTOM_DEFAULT" not in outsider.traits(with_own)
        assert "CUSTOM_DEFAULT" in outsider.traits(other)
        assert "CUSTOM_X" not in outsider.totals(other)
        assert writes_of_an_update(host) == []

    def test_r28_an_entry_of_a_provider_that_the_driver_does_not_rewrite_stays_valid(
        self, host, outsider
    ):
        host.start()
        pool = outsider.provider(name=f"{host.name}-pool", parent=host.uuid)
        write_config(host, (f"uuid: {pool}", total("CUSTOM_X", 10)))
        host.start()
        assert outsider.totals(pool) == {"CUSTOM_X": 10}
        assert writes_of_an_update(host) == []

    def test_r28_another_total_for_an_operator_s_own_child_is_stored(self, host, outsider):
        host.start()
        pool = outsider.provider(
            name=f"{host.name}-pool", parent=host.uuid, inventory={"CUSTOM_Y": {"total": 3}}
        )
        write_config(host, (f"uuid: {pool}", total("CUSTOM_X", 10)))
        host.start()
        guest = outsider.allocate({pool: {"CUSTOM_X": 4}})
        write_config(host, (f"uuid: {pool}", total("CUSTOM_X", 12)))
        host.start()
        assert host.outcome.failures == {}
        assert outsider.totals(pool) == {"CUSTOM_X": 12, "CUSTOM_Y": 3}
        assert outsider.allocations(guest) == {pool: {"CUSTOM_X": 4}}
        assert writes_of_an_update(host) == []

    def test_r28_a_field_that_an_entry_leaves_out_stays_as_placement_has_it(self, host, outsider):
        host.start()
        inventory = {"CUSTOM_X": {"total": 10, "reserved": 2}}
        pool = outsider.provider(name=f"{host.name}-pool", parent=host.uuid, inventory=inventory)
        write_config(host, (f"uuid: {pool}", total("CUSTOM_X", 11)))
        host.start()
        stored = outsider.inventory(pool)["CUSTOM_X"]
        assert (stored["total"], stored["reserved"]) == (11, 2)

    def test_r28_a_class_that_the_driver_takes_up_later_is_refused(self, host, outsider):
        write_config(host, ("uuid: $COMPUTE_NODE", total("CUSTOM_BANDWIDTH", 10)))
        host.start()
        before = outsider.totals(host.uuid)
        host.start(DetailedDriver)
        assert isinstance(host.outcome.failures[host.name], ValueError)
        assert (before["CUSTOM_BANDWIDTH"], outsider.totals(host.uuid)) == (10, before)

    def test_r28_a_class_of_the_drivers_is_refused_and_the_service_goes_on(self, host, caplog):
        write_config(host, ("uuid: $COMPUTE_NODE", total("CUSTOM_BANDWIDTH", 10)))
        host.start(DetailedDriver)
        assert isinstance(host.outcome.failures[host.name], ValueError)
        assert "owned by the virt driver" in caplog.text

    def test_one_provider_under_two_identities_is_refused(self, host):
        host.start()
        for name, identity in (("a.yaml", f"name: {host.name}"), ("b.yaml", f"uuid: {host.uuid}")):
            write_config(host, (identity, trait("CUSTOM_T")), name=name)
        host.start()
        assert "a.yaml and b.yaml" in str(host.outcome.failures[host.name])

    def test_r29_bad_files_keep_the_service_from_starting(self, host):
        write_config(host, ("serial: x", ""))
        with pytest.raises(exceptions.ProviderConfigException):
            host.start()

    def test_r30_an_absent_provider_is_one_warning(self, host, caplog):
        write_config(host, ("name: nobody", trait("CUSTOM_T")))
        host.start()
        host.update()
        host.update()
        told = [r for r in caplog.records if "nobody" in r.getMessage()]
        assert [r.levelname for r in told] == ["WARNING"]
