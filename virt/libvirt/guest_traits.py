"""What guests of a libvirt hypervisor can have, as traits of the node (doc/driver_libvirt.rst).

A scheduler compares them with what a guest's image asks for.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

import os_traits

from compute import exceptions
from virt.libvirt.capabilities_xml import DOMAIN_CAPABILITIES
from virt.libvirt.xml_reading import parse

_KVM_MODELS = frozenset(
    {
        "E1000",
        "E1000E",
        "IGB",
        "NE2K_PCI",
        "PCNET",
        "RTL8139",
        "SPAPR_VLAN",
        "VIRTIO",
        "VMXNET3",
    }
)
# [libvirt]virt_type → models of network cards.
_VIF_MODELS = {
    "kvm": _KVM_MODELS,
    "qemu": _KVM_MODELS | {"LAN9118"},
    "parallels": frozenset({"E1000", "RTL8139", "VIRTIO"}),
    "lxc": frozenset(),
}

# [libvirt]virt_type → buses of disks, where it isn't libvirt that says which.
_FIXED_BUSES = {"lxc": frozenset({"LXC"}), "parallels": frozenset({"IDE", "SCSI"})}

# Trait → versions of libvirt and QEMU since which each guest can have it.
_SINCE = {
    "COMPUTE_ADDRESS_SPACE_EMULATED": (8_007_000, 0),
    "COMPUTE_ADDRESS_SPACE_PASSTHROUGH": (8_007_000, 0),
    "COMPUTE_NET_VIRTIO_PACKED": (0, 0),
    "COMPUTE_SECURITY_STATELESS_FIRMWARE": (8_006_000, 0),
    "COMPUTE_SOUND_MODEL_AC97": (0, 0),
    "COMPUTE_SOUND_MODEL_ES1370": (0, 0),
    "COMPUTE_SOUND_MODEL_ICH6": (0, 0),
    "COMPUTE_SOUND_MODEL_ICH9": (0, 0),
    "COMPUTE_SOUND_MODEL_PCSPK": (0, 0),
    "COMPUTE_SOUND_MODEL_SB16": (0, 0),
    "COMPUTE_SOUND_MODEL_USB": (0, 0),
    "COMPUTE_SOUND_MODEL_VIRTIO": (10_004_000, 8_002_000),
    "COMPUTE_STORAGE_VIRTIO_FS": (0, 0),
    "COMPUTE_VIOMMU_MODEL_AUTO": (0, 0),
    "COMPUTE_VIOMMU_MODEL_VIRTIO": (8_003_000, 0),
}
_IGB_SINCE = (9_003_000, 8_000_000)

# Encrypted disks are another program's: this driver starts no guests, and nova has none of them.
_NEVER = ("COMPUTE_EPHEMERAL_ENCRYPTION", "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS")

_TPM = {
    "1.2": "COMPUTE_SECURITY_TPM_1_2",
    "2.0": "COMPUTE_SECURITY_TPM_2_0",
    "tpm-tis": "COMPUTE_SECURITY_TPM_TIS",
    "tpm-crb": "COMPUTE_SECURITY_TPM_CRB",
}
_TPM_VERSIONS = frozenset({"1.2", "2.0"})
_TPM_SECRETS = ("user", "host", "deployment")


@dataclass(frozen=True)
class GuestOptions:
    """What the operator decides of guests; the options of group [libvirt] of the same names."""

    virt_type: str = "kvm"
    machine_types: Mapping[str, str] = field(default_factory=dict, hash=False)
    swtpm_enabled: bool = False
    supported_tpm_secret_security: tuple[str, ...] = _TPM_SECRETS
    tdx_guests: int | None = None
    file_backed_memory: int = 0


@dataclass(frozen=True)
class Offer:
    """What guests of one architecture, on one type of machine, can have.

    `tpm` are models and versions of TPM that libvirt can emulate.
    """

    architecture: str
    buses: frozenset[str] = frozenset()
    video_models: frozenset[str] = frozenset()
    secure_boot: bool = False
    tpm: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Versions:
    """Versions as libvirt writes them, like 9003000 for 9.3.0."""

    libvirt: int
    hypervisor: int

    def reach(self, needed: tuple[int, int]) -> bool:
        """Say whether both are at least so new."""
        return self.libvirt >= needed[0] and self.hypervisor >= needed[1]


def parse_offer(architecture: str, text: str) -> Offer:
    """Read domain capabilities. Raises MalformedXML if the XML makes no sense."""
    found = parse(text, DOMAIN_CAPABILITIES)
    return Offer(
        architecture,
        buses=_values(found, "./devices/disk", "bus"),
        video_models=_values(found, "./devices/video", "modelType"),
        secure_boot="yes" in _values(found, "./os/loader", "secure"),
        tpm=_tpm(found),
    )


def guest_traits(
    architecture: str, offers: Collection[Offer], versions: Versions, options: GuestOptions
) -> dict[str, bool]:
    """Return trait → whether guests can have it, for all traits that this module decides.

    `architecture` is the host's. Raises InvalidConfiguration if the hypervisor lacks what the
    options promise.
    """
    architectures = {architecture, *(one.architecture for one in offers)}
    mine = [one for one in offers if one.architecture == architecture]
    buses = _FIXED_BUSES.get(options.virt_type, _union(one.buses for one in offers))
    vifs = set(_VIF_MODELS.get(options.virt_type, ()))
    if not versions.reach(_IGB_SINCE):
        vifs.discard("IGB")
    traits = {
        **_among("COMPUTE_ARCH_", architectures),
        **_among("COMPUTE_STORAGE_BUS_", buses),
        **_among("COMPUTE_GRAPHICS_MODEL_", _union(one.video_models for one in offers)),
        **_among("COMPUTE_NET_VIF_MODEL_", vifs, of=_VIF_MODELS["qemu"]),
        **{trait: versions.reach(needed) for trait, needed in _SINCE.items()},
        **dict.fromkeys(_NEVER, False),
        "COMPUTE_MEM_BACKING_FILE": options.file_backed_memory > 0,
        "COMPUTE_SECURITY_UEFI_SECURE_BOOT": any(one.secure_boot for one in mine),
        "COMPUTE_VIOMMU_MODEL_INTEL": "x86_64" in architectures,
        "COMPUTE_VIOMMU_MODEL_SMMUV3": "aarch64" in architectures,
        **_tpm_traits(_union(one.tpm for one in mine), bool(mine), options),
    }
    known, _unknown = os_traits.check_traits(traits)
    return {trait: has for trait, has in traits.items() if trait in known}


def _tpm_traits(
    supported: Collection[str], is_told: bool, options: GuestOptions
) -> dict[str, bool]:
    enabled = options.swtpm_enabled
    if enabled and is_told and not supported:
        raise exceptions.InvalidConfiguration(
            "[libvirt]swtpm_enabled is set, but this host's libvirt can't emulate a TPM."
        )
    enabled = enabled and bool(supported)
    traits = {trait: enabled and name in supported for name, trait in _TPM.items()}
    secrets = options.supported_tpm_secret_security
    return traits | {
        f"COMPUTE_SECURITY_TPM_SECRET_SECURITY_{kind.upper()}": enabled and kind in secrets
        for kind in _TPM_SECRETS
    }


def _tpm(capabilities: ElementTree.Element) -> frozenset[str]:
    where = "./devices/tpm"
    if "emulator" not in _values(capabilities, where, "backendModel"):
        return frozenset()
    # Before 8.6, libvirt doesn't say which versions; both work.
    versions = _values(capabilities, where, "backendVersion") or _TPM_VERSIONS
    return _values(capabilities, where, "model") | versions


def _values(capabilities: ElementTree.Element, where: str, name: str) -> frozenset[str]:
    found = capabilities.findall(f"{where}/enum[@name='{name}']/value")
    return frozenset(one.text.strip() for one in found if one.text)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def _among(prefix: str, names: Iterable[str], of: Iterable[str] | None = None) -> dict[str, bool]:
    """Return trait → whether it is one of `names`; for all of `of`, or for all with the prefix."""
    present = {f"{prefix}{name.replace('-', '_').upper()}" for name in names}
    traits = os_traits.get_traits(prefix) if of is None else [f"{prefix}{name}" for name in of]
    return {trait: trait in present for trait in traits}
