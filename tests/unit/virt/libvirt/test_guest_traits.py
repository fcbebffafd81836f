"""Which traits say what guests can have: those that nova 34 reports of the same host."""

import pytest

from compute.exceptions import InvalidConfiguration
from tests.unit.virt.libvirt.guest_hosts import domain_xml, guest_xml, host_xml, tpm_xml
from virt.libvirt.guest_kinds import GuestKind, guest_kinds, machine_types
from virt.libvirt.guest_traits import GuestOptions, Versions, guest_traits, parse_offer
from virt.libvirt.xml_reading import MalformedXML

NEW = Versions(11_000_000, 10_000_000)


def traits(*offers, host="x86_64", versions=NEW, **options):
    """Return the traits of a host, without COMPUTE_; `offers` are (architecture, XML)."""
    read = [parse_offer(architecture, text) for architecture, text in offers]
    found = guest_traits(host, read, versions, GuestOptions(**options))
    return {name.removeprefix("COMPUTE_") for name, has in found.items() if has}


def named(prefix, found):
    return {one.removeprefix(prefix) for one in found if one.startswith(prefix)}


PLAIN = ("x86_64", domain_xml())


class TestKinds:
    def test_each_machine_with_a_second_name_counts_and_the_default(self):
        text = host_xml(guest_xml("x86_64", aliases=["q35", "microvm"]), guest_xml("aarch64"))
        assert guest_kinds(text, "kvm", {}) == [
            GuestKind("/usr/bin/qemu", "x86_64", "pc"),
            GuestKind("/usr/bin/qemu", "x86_64", "q35"),
            GuestKind("/usr/bin/qemu", "x86_64", "microvm"),
            GuestKind("/usr/bin/qemu", "aarch64", "virt"),
        ]

    def test_a_configured_machine_is_the_only_one_of_its_architecture(self):
        text = host_xml(guest_xml("x86_64", aliases=["q35"]), guest_xml("ppc64"))
        configured = machine_types(["x86_64=pc-i440fx-7.2", "nonsense"])
        assert [
            (one.architecture, one.machine) for one in guest_kinds(text, "kvm", configured)
        ] == [
            ("x86_64", "pc-i440fx-7.2"),
            ("ppc64", None),
        ]

    def test_guests_of_another_type_do_not_count(self):
        text = host_xml(guest_xml("x86_64"), guest_xml("aarch64", domains=["qemu"]))
        assert {one.architecture for one in guest_kinds(text, "kvm", {})} == {"x86_64"}
        assert guest_kinds(text, "lxc", {}) == []

    def test_an_emulator_of_the_type_wins(self):
        own = "<domain type='kvm'><emulator>/usr/bin/kvm</emulator></domain>"
        text = host_xml(guest_xml("x86_64").replace("<domain type='kvm'/>", own))
        assert {one.emulator for one in guest_kinds(text, "kvm", {})} == {"/usr/bin/kvm"}


class TestTraits:
    def test_a_plain_host_has_what_each_guest_can_have(self):
        assert traits(PLAIN) == {
            "ARCH_X86_64",
            "GRAPHICS_MODEL_VGA",
            *(f"NET_VIF_MODEL_{one}" for one in ("E1000", "E1000E", "IGB", "NE2K_PCI", "PCNET")),
            *(f"NET_VIF_MODEL_{one}" for one in ("RTL8139", "SPAPR_VLAN", "VIRTIO", "VMXNET3")),
            "NET_VIRTIO_PACKED",
            *(f"SOUND_MODEL_{one}" for one in ("AC97", "ES1370", "ICH6", "ICH9", "PCSPK")),
            *(f"SOUND_MODEL_{one}" for one in ("SB16", "USB", "VIRTIO")),
            "STORAGE_BUS_VIRTIO",
            "STORAGE_VIRTIO_FS",
            *(f"VIOMMU_MODEL_{one}" for one in ("AUTO", "INTEL", "VIRTIO")),
            "ADDRESS_SPACE_EMULATED",
            "ADDRESS_SPACE_PASSTHROUGH",
            "SECURITY_STATELESS_FIRMWARE",
        }

    @pytest.mark.parametrize(
        ("libvirt", "qemu", "missing"),
        [
            (10_004_000, 8_002_000, set()),
            (10_003_000, 9_000_000, {"SOUND_MODEL_VIRTIO"}),
            (11_000_000, 8_001_000, {"SOUND_MODEL_VIRTIO"}),
            (11_000_000, 7_002_000, {"SOUND_MODEL_VIRTIO", "NET_VIF_MODEL_IGB"}),
            (9_002_000, 8_002_000, {"SOUND_MODEL_VIRTIO", "NET_VIF_MODEL_IGB"}),
            (
                8_000_000,
                6_002_000,
                {
                    "SOUND_MODEL_VIRTIO",
                    "NET_VIF_MODEL_IGB",
                    "ADDRESS_SPACE_EMULATED",
                    "ADDRESS_SPACE_PASSTHROUGH",
                    "SECURITY_STATELESS_FIRMWARE",
                    "VIOMMU_MODEL_VIRTIO",
                },
            ),
        ],
    )
    def test_an_older_version_lacks_some(self, libvirt, qemu, missing):
        assert traits(PLAIN) - traits(PLAIN, versions=Versions(libvirt, qemu)) == missing

    def test_what_one_kind_of_guests_can_have_the_host_has(self):
        found = traits(
            ("x86_64", domain_xml(["ide", "sd"], ["cirrus"])),
            ("x86_64", domain_xml(["sata"], ["bochs", "ramfb"], secure=["yes", "no"])),
            ("aarch64", domain_xml(["scsi"], ["virtio"])),
        )
        assert named("STORAGE_BUS_", found) == {"IDE", "SATA", "SCSI"}
        assert named("GRAPHICS_MODEL_", found) == {"CIRRUS", "BOCHS", "VIRTIO"}
        assert named("ARCH_", found) == {"X86_64", "AARCH64"}
        assert named("VIOMMU_MODEL_", found) == {"AUTO", "INTEL", "SMMUV3", "VIRTIO"}
        assert "SECURITY_UEFI_SECURE_BOOT" in found

    def test_secure_boot_of_another_architecture_does_not_count(self):
        other = ("aarch64", domain_xml(secure=["yes"]))
        assert "SECURITY_UEFI_SECURE_BOOT" not in traits(PLAIN, other)

    def test_a_hypervisor_that_tells_nothing_has_its_own_architecture(self):
        found = traits(host="aarch64")
        assert named("ARCH_", found) == {"AARCH64"}
        assert named("STORAGE_BUS_", found) == set()

    @pytest.mark.parametrize(
        ("virt_type", "buses", "cards"),
        [
            ("lxc", {"LXC"}, set()),
            ("parallels", {"IDE", "SCSI"}, {"E1000", "RTL8139", "VIRTIO"}),
        ],
    )
    def test_other_types_of_guests_have_other_devices(self, virt_type, buses, cards):
        found = traits(PLAIN, virt_type=virt_type)
        assert named("STORAGE_BUS_", found) == buses
        assert named("NET_VIF_MODEL_", found) == cards

    def test_only_emulated_guests_have_a_lan9118(self):
        assert "NET_VIF_MODEL_LAN9118" in traits(PLAIN, virt_type="qemu")

    def test_what_a_host_lacks_is_said_as_well(self):
        found = guest_traits("x86_64", [], NEW, GuestOptions())
        for trait in (
            "COMPUTE_ARCH_AARCH64",
            "COMPUTE_STORAGE_BUS_XEN",
            "COMPUTE_NET_VIF_MODEL_LAN9118",
            "COMPUTE_SECURITY_TPM_2_0",
            "COMPUTE_EPHEMERAL_ENCRYPTION",
            "COMPUTE_MEM_BACKING_FILE",
        ):
            assert found[trait] is False, trait

    def test_what_is_no_hypervisors_to_say_is_left_to_others(self):
        assert "COMPUTE_NET_VIF_MODEL_SRIOV" not in guest_traits("x86_64", [], NEW, GuestOptions())

    def test_xml_that_makes_no_sense_is_refused(self):
        with pytest.raises(MalformedXML, match="domain capabilities"):
            parse_offer("x86_64", "<domain")


class TestTPM:
    def test_there_is_none_unless_the_operator_says_so(self):
        assert named("SECURITY_TPM_", traits(("x86_64", domain_xml(tpm=tpm_xml())))) == set()

    @pytest.mark.parametrize(
        ("told", "found"),
        [
            (tpm_xml(), {"1_2", "2_0", "TIS", "CRB"}),
            (tpm_xml(versions=()), {"1_2", "2_0", "TIS", "CRB"}),
            (tpm_xml(["tpm-tis"], versions=["2.0"]), {"2_0", "TIS"}),
            (tpm_xml(["tpm-spapr"], versions=["2.0"]), {"2_0"}),
        ],
    )
    def test_models_and_versions_are_those_that_libvirt_emulates(self, told, found):
        offer = ("x86_64", domain_xml(tpm=told))
        secrets = {"SECRET_SECURITY_HOST", "SECRET_SECURITY_USER", "SECRET_SECURITY_DEPLOYMENT"}
        assert named("SECURITY_TPM_", traits(offer, swtpm_enabled=True)) == found | secrets

    def test_those_of_another_architecture_do_not_count(self):
        mine = ("x86_64", domain_xml(tpm=tpm_xml(["tpm-crb"], versions=["1.2"])))
        other = ("aarch64", domain_xml(tpm=tpm_xml(["tpm-tis"], versions=["2.0"])))
        options = {"swtpm_enabled": True, "supported_tpm_secret_security": ("user",)}
        found = named("SECURITY_TPM_", traits(mine, other, **options))
        assert found == {"1_2", "CRB", "SECRET_SECURITY_USER"}

    @pytest.mark.parametrize("told", ["", tpm_xml(backends=["passthrough"])])
    def test_a_host_that_emulates_none_is_refused(self, told):
        with pytest.raises(InvalidConfiguration, match=r"swtpm_enabled.*can't emulate"):
            traits(("x86_64", domain_xml(tpm=told)), swtpm_enabled=True)
