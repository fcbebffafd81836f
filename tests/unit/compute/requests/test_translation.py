"""What a guest asks for that no table of queries shows."""

import pytest

from compute.records.instance import Flavor
from compute.report.consumers.resource_request import RequestGroup
from compute.requests.ports import GuestPort
from compute.requests.reading.image import GuestImage
from compute.requests.reading.refusal import Refused
from compute.requests.settings import PciAlias, Settings
from compute.requests.translation import healed_amounts, request_of

GPU = {"gpu": PciAlias("CUSTOM_GPU")}


def flavor(**extra_specs: str) -> Flavor:
    """Return a flavor with these extra specs; `__` stands for a colon."""
    specs = {name.replace("__", ":"): value for name, value in extra_specs.items()}
    return Flavor(4, 8192, 20, extra_specs=specs)


class TestLeftOut:
    @pytest.mark.parametrize(
        ("extra_specs", "told"),
        [
            (
                {"hw__numa_nodes": "2"},
                "hw:numa_nodes=2 is not in the request: NUMATopologyFilter judges it.",
            ),
            (
                {"hw__mem_page_size": "large"},
                "hw:mem_page_size=large is not in the request: NUMATopologyFilter judges it.",
            ),
            (
                {"aggregate_instance_extra_specs__ssd": "true"},
                "aggregate_instance_extra_specs:ssd=true is not in the request: "
                "AggregateInstanceExtraSpecsFilter judges it.",
            ),
            (
                {"capabilities__cpu_info:vendor": "Intel"},
                "capabilities:cpu_info:vendor=Intel is not in the request: "
                "ComputeCapabilitiesFilter judges it.",
            ),
            (
                {"ssd": "true"},
                "ssd=true is not in the request: AggregateInstanceExtraSpecsFilter and "
                "ComputeCapabilitiesFilter judge it.",
            ),
            (
                {"accel__device_profile": "fpga"},
                "accel:device_profile=fpga is not in the request: cyborg knows the devices.",
            ),
            ({"resources__VGPU": "two"}, "resources:VGPU=two is ignored: it must be a whole "
             "number from 0."),
            ({"resources__VGPUS": "1"}, "resources:VGPUS=1 is ignored: there is no resource class "
             "VGPUS."),
            ({"trait__A": "preferred"}, "trait:A=preferred is ignored: it must be required or "
             "forbidden."),
            ({"group_policy": "x"}, "group_policy=x is ignored: it must be none or isolate."),
            (
                {"pci_passthrough__alias": "gpu:1"},
                "pci_passthrough:alias=gpu:1 is not in the request: [pci]alias of the "
                "configuration defines no devices.",
            ),
        ],
    )  # fmt: skip
    def test_an_extra_spec_that_is_not_asked_of_placement_is_named(
        self, extra_specs: dict[str, str], told: str
    ) -> None:
        assert request_of(flavor(**extra_specs)).left_out == (told,)

    def test_cells_are_named_one_by_one(self) -> None:
        cells = {"hw__numa_cpus.0": "0-3", "hw__numa_mem.0": "8192", "hw__numa_nodes": "1"}
        assert len(request_of(flavor(**cells)).left_out) == 3

    def test_devices_that_are_not_in_placement_are_left_to_a_filter(self) -> None:
        settings = Settings(pci_aliases=GPU)
        found = request_of(flavor(pci_passthrough__alias="gpu:1"), settings=settings)
        assert found.left_out == (
            "pci_passthrough:alias=gpu:1 is not in the request: PciPassthroughFilter judges it, "
            "[filter_scheduler]pci_in_placement is off.",
        )

    def test_devices_in_placement_are_not_left_out(self) -> None:
        settings = Settings(pci_aliases=GPU, pci_in_placement=True)
        found = request_of(flavor(pci_passthrough__alias="gpu:2"), settings=settings)
        assert not found.left_out
        assert found.holds["CUSTOM_GPU"] == 2

    @pytest.mark.parametrize("name", ["img_hv_type", "hypervisor_type", "hw_architecture"])
    def test_properties_that_a_filter_judges_are_named(self, name: str) -> None:
        value = {"hw_architecture": "x86_64"}.get(name, "kvm")
        found = request_of(flavor(), GuestImage({name: value}))
        assert found.left_out == (
            f"{name}={value} is not in the request: ImagePropertiesFilter judges it.",
        )

    def test_a_device_that_no_trait_stands_for_is_named(self) -> None:
        image = GuestImage({"hw_viommu_model": "intel", "hw_disk_bus": "virtio"}, "qcow2")
        found = request_of(flavor(), image, settings=Settings(image_metadata_prefilter=True))
        assert found.left_out == (
            "hw_viommu_model=intel is not in the request: no trait stands for it, and nova asks "
            "for no device of the image then.",
        )

    @pytest.mark.parametrize(
        ("disk_format", "told"),
        [
            (None, "The image's disk_format is not in the request: it isn't given."),
            ("docker", "disk_format=docker is not in the request: no trait stands for it."),
        ],
    )
    def test_a_format_that_no_trait_stands_for_is_named(
        self, disk_format: str | None, told: str
    ) -> None:
        settings = Settings(query_placement_for_image_type_support=True)
        found = request_of(flavor(), GuestImage({}, disk_format), settings=settings)
        assert found.left_out == (told,)
        assert not request_of(flavor(), None, (), settings, booted_from_volume=True).left_out


class TestPorts:
    def test_groups_of_ports_are_added_with_what_belongs_together(self) -> None:
        port = GuestPort(
            {
                "_a": RequestGroup({"NET_BW_EGR_KILOBIT_PER_SEC": 1000}, frozenset({"CUSTOM_P"})),
                "_b": RequestGroup({"NET_PACKET_RATE_KILOPACKET_PER_SEC": 1}),
            },
            (frozenset({"_a", "_b"}),),
        )
        found = request_of(flavor(), ports=[port])
        assert found.request.same_subtree == (frozenset({"_a", "_b"}),)
        assert found.request.group_policy == "none"
        assert found.request.groups["_a"].required_traits == {"CUSTOM_P"}
        assert found.holds["NET_BW_EGR_KILOBIT_PER_SEC"] == 1000

    def test_a_remote_managed_port_asks_for_a_trait_of_the_root(self) -> None:
        found = request_of(flavor(), ports=[GuestPort(remote_managed=True)])
        assert "COMPUTE_REMOTE_MANAGED_PORTS" in found.request.root_required


class TestSettings:
    def test_nodes_of_old_agents_are_not_marked_as_novas(self) -> None:
        settings = Settings(pci_aliases=GPU, pci_in_placement=True, owner_trait=False)
        found = request_of(flavor(pci_passthrough__alias="gpu:1"), settings=settings)
        assert "OWNER_NOVA" not in found.request.to_querystring()

    def test_more_devices_than_any_host_has_are_refused(self) -> None:
        with pytest.raises(Refused, match="more than 4096 devices"):
            request_of(
                flavor(pci_passthrough__alias="gpu:999999999999"),
                settings=Settings(pci_aliases=GPU, pci_in_placement=True),
            )


class TestHealing:
    @pytest.mark.parametrize(
        ("extra_specs", "processors"),
        [
            ({"hw__cpu_policy": "mixed"}, {"VCPU": 4}),
            ({"hw__cpu_policy": "mixed", "hw__cpu_dedicated_mask": "x"}, {"VCPU": 4}),
            ({"hw__cpu_policy": "Dedicated"}, {"VCPU": 4}),
            ({"hw__cpu_policy": "dedicated", "hw__cpu_dedicated_mask": "x"}, {"PCPU": 4}),
            ({"resources__VCPU": "four"}, {"VCPU": 4}),
            ({"resources__VCPU": "-1"}, {"VCPU": 4}),
        ],
    )
    def test_values_of_no_use_leave_a_guest_its_own_processors(
        self, extra_specs: dict[str, str], processors: dict[str, int]
    ) -> None:
        expected = {"MEMORY_MB": 8192, "DISK_GB": 20} | processors
        assert healed_amounts(flavor(**extra_specs)) == expected

    def test_encrypted_memory_is_held_whatever_the_image_is(self) -> None:
        found = healed_amounts(flavor(hw__mem_encryption="true"))
        assert found["MEM_ENCRYPTION_CONTEXT"] == 1

    def test_devices_are_not_in_it(self) -> None:
        assert set(healed_amounts(flavor(pci_passthrough__alias="gpu:1"))) == {
            "VCPU",
            "MEMORY_MB",
            "DISK_GB",
        }
