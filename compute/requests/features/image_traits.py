"""The traits that the root must have for an image: its devices, and its format."""

from collections.abc import Iterator, Mapping

from compute.requests.reading import image_values
from compute.requests.reading.image import ImageProperties

#: property → what the names of its traits begin with, the values that have one
_DEVICES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "hw_architecture": (
        "HW_ARCH",
        tuple(name for name in image_values.ARCHITECTURES if name != "armv7l"),
    ),
    "hw_emulation_architecture": (
        "COMPUTE_ARCH",
        ("aarch64", "mipsel", "ppc64le", "s390x", "x86_64"),
    ),
    "hw_cdrom_bus": ("COMPUTE_STORAGE_BUS", image_values.BUSES),
    "hw_disk_bus": ("COMPUTE_STORAGE_BUS", image_values.BUSES),
    "hw_video_model": ("COMPUTE_GRAPHICS_MODEL", image_values.VIDEO),
    "hw_vif_model": ("COMPUTE_NET_VIF_MODEL", image_values.VIFS),
    "hw_viommu_model": ("COMPUTE_VIOMMU_MODEL", ()),
}
_FORMATS = frozenset(
    {"ami", "ari", "aki", "iso", "ploop", "qcow2", "raw", "vdi", "vhd", "vhdx", "vmdk"}
)


def device_traits(image: ImageProperties) -> Iterator[str]:
    """Yield the traits of the devices that the image names.

    As in nova, one that no trait stands for makes it none at all.
    """
    if any(without_trait(image)):
        return
    for name, (prefix, values) in _DEVICES.items():
        if (value := image.get(name)) in values:
            yield f"{prefix}_{value.replace('-', '_').upper()}"


def without_trait(image: ImageProperties) -> Iterator[tuple[str, str]]:
    """Yield property and value of each device that no trait stands for."""
    for name, (_, values) in _DEVICES.items():
        value = image.get(name)
        if value is not None and value not in values:
            yield name, value


def format_traits(disk_format: str | None) -> Iterator[str]:
    """Yield the trait of hosts that can boot an image of this format, if there is one."""
    name = str(disk_format or "").lower()
    if name in _FORMATS:
        yield f"COMPUTE_IMAGE_TYPE_{name.upper()}"
