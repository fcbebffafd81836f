"""Reading libvirt's descriptions of hosts, devices and guests."""

import re

import pytest

from tests.unit.virt.consumers import uuid
from tests.unit.virt.libvirt.hosts import (
    capabilities_xml,
    card_xml,
    function_of_guest_xml,
    gpu_xml,
    guest_xml,
    mdev_of_guest_xml,
    mdev_xml,
    vdpa_of_guest_xml,
    vdpa_xml,
)
from tests.unit.virt.node.hosts import mdev_uuid
from virt.libvirt.capabilities_xml import (
    parse_capabilities,
    parse_cpu_features,
    parse_encryption,
    processor,
)
from virt.libvirt.device_xml import parse_devices
from virt.libvirt.guest_xml import parse_guest
from virt.libvirt.xml_reading import MalformedXML
from virt.node.cpu_traits import cpu_traits
from virt.node.facts import MediatedDevice

SEV = (
    "<domainCapabilities><features><sev supported='{}'><cbitpos>47</cbitpos>"
    "<maxGuests>{}</maxGuests><maxESGuests>{}</maxESGuests></sev></features></domainCapabilities>"
)


def devices(*texts):
    named = {}
    for text in re.findall(r"<device>.*?</device>", "".join(texts)):
        named[re.search("<name>(.*?)</name>", text)[1]] = text
    return parse_devices(named)


class TestCapabilities:
    def test_cells_have_their_processors_and_their_memory(self):
        host = parse_capabilities(capabilities_xml())
        assert [(cell.id, sorted(cell.cpus), cell.memory_mb) for cell in host.cells] == [
            (0, [0, 1, 2, 3], 8192),
            (1, [4, 5, 6, 7], 8192),
        ]

    def test_a_processor_of_which_only_the_number_is_told_is_offline(self):
        text = re.sub("<cpu id='(1|6)'[^>]*>", r"<cpu id='\1'/>", capabilities_xml())
        cells = parse_capabilities(text).cells
        assert [sorted(cell.cpus) for cell in cells] == [[0, 2, 3], [4, 5, 7]]
        assert [sorted(cell.offline) for cell in cells] == [[1], [6]]

    def test_where_nothing_but_numbers_is_told_all_are_online(self):
        text = re.sub("<cpu id='(.)'[^>]*>", r"<cpu id='\1'/>", capabilities_xml())
        assert [len(cell.cpus) for cell in parse_capabilities(text).cells] == [4, 4]

    @pytest.mark.parametrize(("threads", "hyperthreading"), [(1, False), (2, True)])
    def test_threads_of_a_core_are_hyperthreading(self, threads, hyperthreading):
        assert (
            parse_capabilities(capabilities_xml(threads=threads)).hyperthreading is hyperthreading
        )

    def test_siblings_are_hyperthreading(self):
        text = capabilities_xml().replace("siblings='3'", "siblings='2-3'")
        assert parse_capabilities(text).hyperthreading

    def test_features_are_traits_by_the_kernels_names(self):
        cpu = "<model>Haswell</model><vendor>Intel</vendor>"
        host = parse_capabilities(capabilities_xml(cpu=cpu))
        names = ("fpu", "lm", "sse4.1", "pclmuldq", "avx512-vpopcntdq", "avx512vnni", "spec-ctrl")
        traits = cpu_traits(processor(host, names), hyperthreading=False)
        assert {name for name, has in traits.items() if has} == {
            "HW_ARCH_X86_64",
            "HW_CPU_X86_SSE41",
            "HW_CPU_X86_CLMUL",
            "HW_CPU_X86_AVX512VPOPCNTDQ",
            "HW_CPU_X86_AVX512VNNI",
            "HW_CPU_X86_INTEL_SPEC_CTRL",
        }

    def test_kinds_of_guests_are_architecture_hypervisor_and_mode(self):
        guests = "".join(
            f"<guest><os_type>{mode}</os_type><arch name='{arch}'><domain type='qemu'/>"
            "<domain type='kvm'><emulator/></domain></arch></guest>"
            for mode, arch in (("hvm", "x86_64"), ("hvm", "i686"))
        )
        text = capabilities_xml().replace("</host>", f"</host>{guests}")
        assert parse_capabilities(text).guest_kinds == (
            ("x86_64", "qemu", "hvm"),
            ("x86_64", "kvm", "hvm"),
            ("i686", "qemu", "hvm"),
            ("i686", "kvm", "hvm"),
        )

    def test_a_features_list_leaves_out_disabled_ones(self):
        features = "<feature policy='require' name='avx'/><feature policy='disable' name='mpx'/>"
        assert parse_cpu_features(f"<cpu>{features}</cpu>") == {"avx"}

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("<capabilities><host>", "host capabilities: "),
            ("", "host capabilities: "),
            ("<capabilities/>", "no <host><cpu><arch>"),
            (capabilities_xml().replace("<cell id='1'>", "<cell id='one'>"), "'one'"),
            (capabilities_xml().replace("<cpu id='5'", "<cpu id='x'"), "NUMA cell 1.*'x'"),
            (capabilities_xml().replace("<cell id='1'>", "<cell id='²'>"), "'²'"),
            (capabilities_xml().replace("<cpu id='5'", "<cpu id='²'"), "NUMA cell 1.*'²'"),
            (re.sub(r"(<memory[^>]*>)\d+", r"\1²", capabilities_xml()), "amount of memory: '²'"),
            (capabilities_xml().replace("unit='KiB'", "unit='parsec'"), "NUMA cell 0.*parsec"),
            (capabilities_xml().replace("siblings='5'", "siblings='b'"), "siblings.*'b'"),
        ],
    )
    def test_what_makes_no_sense_is_malformed_and_said_where(self, text, complaint):
        with pytest.raises(MalformedXML, match=complaint):
            parse_capabilities(text)


class TestMemoryEncryption:
    def test_each_technology_has_its_number_of_guests(self):
        assert parse_encryption(SEV.format("yes", 15, 84)) == {"amd_sev": 15, "amd_sev_es": 84}

    @pytest.mark.parametrize(
        ("supported", "kind", "has"),
        [("yes", "sev-snp", True), ("no", "sev-snp", False), ("yes", "sev", False)],
    )
    def test_sev_snp_has_the_slots_of_sev_es(self, supported, kind, has):
        launch = (
            f"<launchSecurity supported='{supported}'><enum name='sectype'><value>tdx</value>"
            f"<value>{kind}</value></enum></launchSecurity></features>"
        )
        found = parse_encryption(SEV.format("yes", 15, 84).replace("</features>", launch))
        snp = {"amd_sev_snp": 84} if has else {}
        assert found == {"amd_sev": 15, "amd_sev_es": 84} | snp

    def test_of_tdx_the_number_is_not_told(self):
        text = (
            "<domainCapabilities><features><tdx supported='yes'/></features></domainCapabilities>"
        )
        assert parse_encryption(text) == {"intel_tdx": None}

    def test_before_libvirt_8_the_number_was_not_told_of_sev_either(self):
        text = re.sub("<max.*</max[^>]*>", "", SEV.format("yes", 15, 84))
        assert parse_encryption(text) == {"amd_sev": None, "amd_sev_es": None}

    def test_what_is_not_supported_has_none(self):
        assert parse_encryption(SEV.format("no", 15, 84)) == {}
        assert parse_encryption("<domainCapabilities/>") == {}

    @pytest.mark.parametrize("number", ["many", "²", "9" * 5000])
    def test_a_number_that_is_none_is_malformed(self, number):
        with pytest.raises(MalformedXML, match=f"domain capabilities.*maxGuests.*{number}"):
            parse_encryption(SEV.format("yes", number, 0))


class TestDevices:
    def test_a_gpu_has_the_types_it_can_make(self):
        found = devices(gpu_xml(0x84, 3, numa_node=1))
        assert found.creatable == {"pci_0000_84_00_0": {"nvidia-35": 3}}
        assert [(one.address, one.vendor_id, one.numa_node) for one in found.pci] == [
            ("0000:84:00.0", "10de", 1)
        ]

    @pytest.mark.parametrize("most", ["maxCount='63'", ""])
    def test_a_card_without_functions_yet_is_a_card(self, most):
        functions = f"<capability type='virt_functions' {most}/>"
        text = gpu_xml(0x84, 3).replace(
            "</capability></device>", f"{functions}</capability></device>"
        )
        (device,) = devices(text).pci
        assert device.kind == "type-PF"

    def test_functions_have_the_serial_number_of_their_card(self):
        vpd = (
            "<capability type='vpd'><name>A card</name><fields access='readonly'>"
            "<serial_number>MT2113X00000</serial_number></fields></capability><numa node='0'/>"
        )
        text = card_xml("ens1", 1, 2).replace("<numa node='0'/>", vpd, 1)
        found = devices(text).pci
        assert {one.serial_number for one in found} == {"MT2113X00000"}
        listed = found[1].listed()
        assert listed["capabilities"] == {"vpd": {"card_serial_number": "MT2113X00000"}}

    def test_a_device_without_a_cell_has_none(self):
        (device,) = devices(gpu_xml(0x84, 3, numa_node=-1)).pci
        assert device.numa_node is None

    def test_mediated_devices_know_their_parent(self):
        found = devices(gpu_xml(0x84, 2), mdev_xml(1, "pci_0000_84_00_0"))
        assert found.mediated == [MediatedDevice(mdev_uuid(1), "pci_0000_84_00_0", "nvidia-35")]

    def test_the_uuid_of_a_mediated_device_may_be_in_its_name_only(self):
        text = mdev_xml(1, "pci_0000_84_00_0").replace(f"<uuid>{mdev_uuid(1)}</uuid>", "")
        assert devices(text).mediated[0].uuid == mdev_uuid(1)

    def test_cards_know_their_functions_and_functions_their_card(self):
        card, first, second = devices(card_xml("ens1", 1, 2)).pci
        assert (card.kind, card.interface, card.numa_node) == ("type-PF", "ens1", 0)
        assert card.virtual_functions == (first.address, second.address)
        assert {first.physical_function, second.physical_function} == {card.address}
        assert first.kind == "type-VF"

    def test_a_function_with_a_vdpa_device_is_one_for_vdpa(self):
        found = devices(card_xml("ens1", 1, 2), vdpa_xml(0, "pci_0000_01_10_1"))
        assert [one.kind for one in found.pci] == ["type-PF", "type-VF", "vdpa"]
        assert found.pci[2].listed()["parent_addr"] == found.pci[0].address
        assert found.vhosts == {"/dev/vhost-vdpa-0": "0000:01:10.1"}

    @pytest.mark.parametrize("parent", ["computer", "pci_0000_99_00_0", ""])
    def test_a_vdpa_device_that_is_of_no_function_is_left_out(self, parent):
        found = devices(card_xml("ens1", 1, 1), vdpa_xml(0, parent))
        assert ([one.kind for one in found.pci], found.vhosts) == (["type-PF", "type-VF"], {})

    @pytest.mark.parametrize("names", [("ens1", "ens1v0"), ("ens1v0", "ens1")])
    def test_a_card_with_several_interfaces_has_the_same_one_each_time(self, names):
        nets = "".join(
            f"<device><name>net_{name}</name><parent>pci_0000_01_00_0</parent>"
            f"<capability type='net'><interface>{name}</interface></capability></device>"
            for name in names
        )
        assert devices(card_xml("ens1", 1, 0), nets).pci[0].interface == "ens1"

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("<bus>132</bus>", "<bus>x</bus>"),
            ("<bus>132</bus>", ""),
            ("<vendor id='0x10de'/>", ""),
            ("<availableInstances>3", "<availableInstances>three"),
            ("numa node='0'", "numa node=''"),
            ("</device>", ""),
        ],
    )
    def test_a_malformed_device_is_named(self, old, new):
        text = gpu_xml(0x84, 3, numa_node=0).replace(old, new)
        with pytest.raises(MalformedXML, match="device gpu-at-84"):
            parse_devices({"gpu-at-84": text})

    def test_a_mediated_device_without_a_parent_is_malformed(self):
        with pytest.raises(MalformedXML, match="device mdev_1"):
            parse_devices({"mdev_1": mdev_xml(1, "")})


class TestGuests:
    def test_a_guest_with_pins_knows_its_processors_and_its_memory(self):
        guest = parse_guest(guest_xml(uuid(1), pins=["2", "3"], cell=0), "g")
        assert guest.vcpu_cpus == (frozenset({2}), frozenset({3}))
        assert guest.own_cpus(range(4)) == {0: 2, 1: 3}
        assert guest.is_pinned(range(4))
        assert guest.memory_cells == {0: 1024}

    def test_a_guest_without_pins_floats(self):
        guest = parse_guest(guest_xml(uuid(1), vcpus=3), "g")
        assert guest.vcpu_cpus == (frozenset(),) * 3
        assert not guest.is_pinned(range(4))
        assert guest.memory_cells is None

    @pytest.mark.parametrize(
        ("pins", "dedicated", "own"),
        [
            (["2", "3"], {2, 3}, {0: 2, 1: 3}),
            (["2", "3"], {4, 5}, {}),
            (["2", "3"], {3, 4}, {1: 3}),
            (["2", "2"], {2, 3}, {}),
            (["2-3", "3"], {2, 3}, {1: 3}),
            (["2"], {2, 3}, {0: 2}),
        ],
    )
    def test_processors_are_its_own_if_pinned_to_them_within_the_dedicated_ones(
        self, pins, dedicated, own
    ):
        guest = parse_guest(guest_xml(uuid(1), pins=pins), "g")
        assert guest.own_cpus(dedicated) == own
        assert guest.is_pinned(dedicated) is (len(own) == 2)

    @pytest.mark.parametrize("vcpus", [1, 2])
    def test_a_guest_that_floats_on_one_processor_is_not_pinned_to_it(self, vcpus):
        text = guest_xml(uuid(1), vcpus=vcpus).replace("'static'", "'static' cpuset='2'")
        guest = parse_guest(text, "g")
        assert guest.vcpu_cpus == (frozenset({2}),) * vcpus
        assert not guest.is_pinned({2, 3})

    def test_a_guest_with_cells_of_its_own_has_memory_on_several(self):
        text = guest_xml(uuid(1), vcpus=4).replace(
            "<os>",
            "<numatune><memnode cellid='0' mode='strict' nodeset='1'/>"
            "<memnode cellid='1' mode='strict' nodeset='0'/></numatune><cpu><numa>"
            "<cell id='0' cpus='0-1' memory='262144' unit='KiB'/>"
            "<cell id='1' cpus='2-3' memory='768' unit='MiB'/></numa></cpu><os>",
        )
        assert parse_guest(text, "g").memory_cells == {1: 256, 0: 768}

    @pytest.mark.parametrize("mode", ["preferred", "interleave"])
    def test_memory_that_only_prefers_a_cell_is_nowhere_for_certain(self, mode):
        text = guest_xml(uuid(1), cell=0).replace("strict", mode)
        assert parse_guest(text, "g").memory_cells is None

    def test_memory_that_may_be_on_two_cells_is_nowhere_for_certain(self):
        assert parse_guest(guest_xml(uuid(1), cell="0-1"), "g").memory_cells is None

    def test_devices_of_the_guest(self):
        inside = mdev_of_guest_xml(1) + function_of_guest_xml(1, 2)
        guest = parse_guest(guest_xml(uuid(1), devices=inside), "g")
        assert guest.mediated_devices == (mdev_uuid(1),)
        assert guest.pci_addresses == ("0000:01:10.2",)

    def test_a_function_that_it_has_by_vdpa(self):
        known = {"/dev/vhost-vdpa-0": "0000:01:10.1", "/dev/vhost-vdpa-1": "0000:01:10.2"}
        text = guest_xml(uuid(1), devices=vdpa_of_guest_xml(1) + vdpa_of_guest_xml(7))
        assert parse_guest(text, "g", lambda: known).pci_addresses == ("0000:01:10.2",)

    def test_a_guest_without_vdpa_needs_no_list_of_devices(self):
        text = guest_xml(uuid(1), devices=function_of_guest_xml(1, 2))
        assert parse_guest(text, "g", pytest.fail).pci_addresses == ("0000:01:10.2",)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("</domain>", ""),
            (f"<uuid>{uuid(1)}</uuid>", ""),
            (">2</vcpu>", ">two</vcpu>"),
            (">2</vcpu>", ">²</vcpu>"),
            (">2</vcpu>", f">{'9' * 5000}</vcpu>"),
            ("vcpu='0' cpuset='2'", "vcpu='' cpuset='2'"),
            ("vcpu='0' cpuset='2'", "vcpu='²' cpuset='2'"),
            (">1024</memory>", ">²</memory>"),
            ("vcpu='0' cpuset='2'", "vcpu='0' cpuset='2-'"),
            ("nodeset='0'", "nodeset='x'"),
            ("unit='MiB'", "unit='?'"),
            ("function='0x2'", "function='two'"),
        ],
    )
    def test_a_malformed_guest_is_named(self, old, new):
        text = guest_xml(
            uuid(1), pins=["2", "3"], cell=0, devices=function_of_guest_xml(1, 2)
        ).replace(old, new)
        with pytest.raises(MalformedXML, match="guest the-guest"):
            parse_guest(text, "the-guest")

    def test_a_guest_with_more_processors_than_any_can_have_is_refused(self):
        with pytest.raises(MalformedXML, match="guest the-guest: <vcpu> is 65537; no guest has"):
            parse_guest(guest_xml(uuid(1), vcpus=2**16 + 1), "the-guest")
