"""`heal_allocations` writes what nova would claim for a flavor, class by class."""

import pytest

from tests.functional.compute.maintenance.healed import flavor, held
from tests.offenders import assert_each
from virt.fake import MediumFakeDriver

OWN = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}


@pytest.fixture
def root_with(sqlite_site):
    """Start the host once, give its root these classes as well, and return its uuid."""

    def made(*names):
        root = sqlite_site.started(MediumFakeDriver)
        with sqlite_site.placement() as outsider:
            for name in names:
                if name.startswith("CUSTOM_"):
                    outsider.call("PUT", f"/resource_classes/{name}")
            more = {name: {"total": 16} for name in names}
            outsider.set_inventory(root, outsider.inventory(root) | more)
        return root

    return made


def healed(site, root, cases):
    """Check what guests get; a case is the flavor's extra specs, and what is wanted."""

    def check(specs, wanted):
        instance = site.guest(flavor=flavor(**specs))
        ended = site.run("heal_allocations", "--instance", instance)
        assert (ended.code, ended.err) == (0, "")
        assert held(site, instance) == {root: wanted}

    assert_each({str(case[0]): case for case in cases}, check)


def test_processors_are_replaced_and_not_added(sqlite_site, root_with):
    cases = [
        ({"resources:PCPU": "2"}, {"PCPU": 2}),
        ({"resources1:VCPU": "2"}, {"VCPU": 2}),
        ({"resources1:VCPU": "1", "resources2:VCPU": "1"}, {"VCPU": 2}),
        ({"resources:VCPU": "0", "resources1:VCPU": "1"}, {"VCPU": 1}),
        ({"hw:cpu_policy": "dedicated"}, {"PCPU": 2}),
        ({"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"}, {"PCPU": 3}),
        ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0"}, {"VCPU": 1, "PCPU": 1}),
    ]
    rest = {"MEMORY_MB": 1024, "DISK_GB": 10}
    healed(sqlite_site, root_with("PCPU"), [(specs, rest | more) for specs, more in cases])


def test_a_host_without_pcpu_gives_shared_processors(sqlite_site, root_with):
    root = root_with()
    instance = sqlite_site.guest(flavor=flavor(**{"hw:cpu_policy": "dedicated"}))

    assert sqlite_site.run("heal_allocations").code == 0
    assert held(sqlite_site, instance) == {root: OWN}


def test_what_features_take_is_healed(sqlite_site, root_with):
    cases = [
        ({"hw:mem_encryption": "true"}, {"MEM_ENCRYPTION_CONTEXT": 1}),
        ({"hw:pmem": "6GB, 6GB"}, {"CUSTOM_PMEM_NAMESPACE_6GB": 2}),
        ({"resources:CUSTOM_X": "1", "resources1:CUSTOM_X": "1"}, {"CUSTOM_X": 2}),
    ]
    root = root_with(*(name for _, more in cases for name in more))
    healed(sqlite_site, root, [(specs, OWN | more) for specs, more in cases])


def test_values_that_nova_ignores_are_ignored(sqlite_site, root_with):
    cases = [
        {"resources1:CUSTOM_X": "many"},
        {"resources:CUSTOM_X": "1.5"},
        {"resources:CUSTOM_X": ""},
        {"resources:VCPU": "-1"},
        {"resources:VGPUS": "1"},
        {"hw:cpu_policy": "Dedicated"},
    ]
    healed(sqlite_site, root_with(), [(specs, OWN) for specs in cases])
