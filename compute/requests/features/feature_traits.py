"""The traits that a guest's features ask for: of its providers, and of the root alone."""

from collections.abc import Iterator, Mapping

from compute.requests.reading import image_values
from compute.requests.reading.asked import Asked
from compute.requests.reading.refusal import Refused, odds, one_of

DEVICE_PROFILE = "accel:device_profile"
_SECRETS = "hw:tpm_secret_security"
#: extra spec and property without their prefix → prefix, allowed values, value → trait
_ONE_OF: Mapping[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    "pci_numa_affinity_policy": (
        "hw",
        image_values.AFFINITY,
        {"socket": "COMPUTE_SOCKET_PCI_NUMA_AFFINITY"},
    ),
    "secure_boot": (
        "os",
        image_values.SECURE_BOOT,
        {"required": "COMPUTE_SECURITY_UEFI_SECURE_BOOT"},
    ),
    "maxphysaddr_mode": (
        "hw",
        image_values.ADDRESS_MODES,
        {
            "emulate": "COMPUTE_ADDRESS_SPACE_EMULATED",
            "passthrough": "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
        },
    ),
}


def traits_of_features(asked: Asked) -> Iterator[str]:
    """Yield the traits that belong to the unsuffixed group; raise Refused."""
    if version := _tpm_version(asked):
        model = _tpm_model(asked, version)
        yield f"COMPUTE_SECURITY_TPM_{version.replace('.', '_')}"
        yield f"COMPUTE_SECURITY_{model.replace('-', '_').upper()}"
    for name, (prefix, allowed, traits) in _ONE_OF.items():
        value = asked.one(name, allowed, prefix)
        if value is not None and value in traits:
            yield traits[value]
    if asked.image.get("hw_firmware_stateless") and asked.image.get("hw_firmware_type") == "uefi":
        yield "COMPUTE_SECURITY_STATELESS_FIRMWARE"


def root_traits_of_features(asked: Asked) -> Iterator[str]:
    """Yield the traits that the root must have; raise Refused."""
    if asked.switch("virtio_packed_ring"):
        yield "COMPUTE_NET_VIRTIO_PACKED"
    if asked.one("sound_model", image_values.SOUND) == "virtio":
        yield "COMPUTE_SOUND_MODEL_VIRTIO"
    if asked.specs.get(DEVICE_PROFILE):
        yield "COMPUTE_ACCELERATORS"
    if asked.switch("ephemeral_encryption"):
        yield "COMPUTE_EPHEMERAL_ENCRYPTION"
        if kind := asked.one("ephemeral_encryption_format", image_values.ENCRYPTION_FORMATS):
            yield f"COMPUTE_EPHEMERAL_ENCRYPTION_{kind.upper()}"
    if _tpm_version(asked):
        keeper = asked.specs.get(_SECRETS) or "user"
        one_of(_SECRETS, keeper, ("user", "host", "deployment"))
        yield f"COMPUTE_SECURITY_TPM_SECRET_SECURITY_{keeper.upper()}"


def check_features(asked: Asked) -> None:
    """Raise Refused for features that ask placement for nothing, but contradict themselves."""
    asked.switch("pmu")
    if asked.flavor.vcpus > 1:
        asked.switch("vif_multiqueue_enabled")
    ours, theirs = asked.both("serial_port_count")
    if not ours:
        return
    try:
        most = int(ours)
    except ValueError as error:
        raise Refused(f"hw:serial_port_count={ours} must be a whole number.") from error
    if theirs and theirs > most:
        raise odds("hw:serial_port_count", ours, "hw_serial_port_count", theirs)


def _tpm_version(asked: Asked) -> str | None:
    return asked.one("tpm_version", image_values.TPM_VERSIONS)


def _tpm_model(asked: Asked, version: str) -> str:
    model = asked.one("tpm_model", image_values.TPM_MODELS) or "tpm-tis"
    if model == "tpm-crb" and version != "2.0":
        raise Refused(f"The TPM model tpm-crb asks for version 2.0, not {version}.")
    return model
