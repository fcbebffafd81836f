"""Encrypted and persistent memory."""

import collections
from collections.abc import Mapping

from compute.requests.reading import image_values
from compute.requests.reading.asked import Asked
from compute.requests.reading.refusal import Refused, odds, one_of
from compute.requests.reading.values import custom_name, is_true

ENCRYPTION = "MEM_ENCRYPTION_CONTEXT"
_MODEL = "hw:mem_encryption_model"
#: model → the trait of hosts that have it
_TRAITS: Mapping[str, str] = {
    "amd-sev": "HW_CPU_X86_AMD_SEV",
    "amd-sev-es": "HW_CPU_X86_AMD_SEV_ES",
    "amd-sev-snp": "HW_CPU_X86_AMD_SEV_SNP",
    "intel-tdx": "HW_CPU_X86_INTEL_TDX",
}
_STATELESS = ("amd-sev-snp", "intel-tdx")


def encryption_trait(asked: Asked) -> str | None:
    """Return the trait that encrypted memory asks for, None if the memory isn't to be encrypted.

    Raises Refused if the image can't have encrypted memory.
    """
    if not asked.switch("mem_encryption"):
        return None
    model = _model(asked)
    if asked.image_known:
        _check_image(asked, model)
    return _TRAITS[model]


def _check_image(asked: Asked, model: str) -> None:
    if asked.image.get("hw_firmware_type") != "uefi":
        raise Refused("Encrypted memory asks for hw_firmware_type=uefi of the image.")
    machine = asked.image.get("hw_machine_type")
    if machine is not None and "q35" not in machine:
        raise Refused(f"Encrypted memory asks for the machine type q35, not {machine or 'none'}.")
    if model in _STATELESS and not asked.image.get("hw_firmware_stateless"):
        raise Refused(f"The memory encryption {model} asks for hw_firmware_stateless of the image.")
    if model == "intel-tdx" and asked.image.get("hw_video_model") != "none":
        raise Refused("The memory encryption intel-tdx asks for hw_video_model=none of the image.")


def _model(asked: Asked) -> str:
    ours, theirs = asked.both("mem_encryption_model")
    if ours is not None and theirs is not None and ours != theirs:
        raise odds(_MODEL, ours, "hw_mem_encryption_model", theirs)
    model: str = ours or theirs or "amd-sev"
    one_of(_MODEL, model, image_values.MEMORY_ENCRYPTION)
    return model


def wants_encryption(specs: Mapping[str, str]) -> bool:
    """Say whether the flavor alone asks for encrypted memory."""
    return is_true(specs.get("hw:mem_encryption"))


def namespaces(specs: Mapping[str, str]) -> dict[str, int]:
    """Return class → amount of the namespaces of persistent memory."""
    labels = filter(None, (label.strip() for label in specs.get("hw:pmem", "").split(",")))
    return dict(collections.Counter(custom_name(f"PMEM_NAMESPACE_{label}") for label in labels))
