"""Which driver capability shows as which trait on the compute node's root provider.

The table is compute.md §4.7. Capabilities without an entry (`has_imagecache`,
`supports_evacuate`, `supports_pcpus`, `supports_vtpm`) are of no interest to Placement.
"""

from collections.abc import Collection, Mapping

IMAGE_TYPE_PREFIX = "supports_image_type_"

CAPABILITY_TRAITS: dict[str, str] = {
    "supports_attach_interface": "COMPUTE_NET_ATTACH_INTERFACE",
    "supports_device_tagging": "COMPUTE_DEVICE_TAGGING",
    "supports_tagged_attach_interface": "COMPUTE_NET_ATTACH_INTERFACE_WITH_TAG",
    "supports_tagged_attach_volume": "COMPUTE_VOLUME_ATTACH_WITH_TAG",
    "supports_extend_volume": "COMPUTE_VOLUME_EXTEND",
    "supports_multiattach": "COMPUTE_VOLUME_MULTI_ATTACH",
    "supports_trusted_certs": "COMPUTE_TRUSTED_CERTS",
    "supports_accelerators": "COMPUTE_ACCELERATORS",
    "supports_migrate_to_same_host": "COMPUTE_SAME_HOST_COLD_MIGRATE",
    "supports_bfv_rescue": "COMPUTE_RESCUE_BFV",
    "supports_secure_boot": "COMPUTE_SECURITY_UEFI_SECURE_BOOT",
    "supports_socket_pci_numa_affinity": "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
    "supports_remote_managed_ports": "COMPUTE_REMOTE_MANAGED_PORTS",
    "supports_address_space_passthrough": "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
    "supports_address_space_emulated": "COMPUTE_ADDRESS_SPACE_EMULATED",
    "supports_virtio_fs": "COMPUTE_STORAGE_VIRTIO_FS",
    "supports_mem_backing_file": "COMPUTE_MEM_BACKING_FILE",
    "supports_stateless_firmware": "COMPUTE_SECURITY_STATELESS_FIRMWARE",
    "supports_ephemeral_encryption": "COMPUTE_EPHEMERAL_ENCRYPTION",
    "supports_ephemeral_encryption_luks": "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS",
    "supports_ephemeral_encryption_plain": "COMPUTE_EPHEMERAL_ENCRYPTION_PLAIN",
    "supports_image_type_aki": "COMPUTE_IMAGE_TYPE_AKI",
    "supports_image_type_ami": "COMPUTE_IMAGE_TYPE_AMI",
    "supports_image_type_ari": "COMPUTE_IMAGE_TYPE_ARI",
    "supports_image_type_iso": "COMPUTE_IMAGE_TYPE_ISO",
    "supports_image_type_qcow2": "COMPUTE_IMAGE_TYPE_QCOW2",
    "supports_image_type_raw": "COMPUTE_IMAGE_TYPE_RAW",
    "supports_image_type_vdi": "COMPUTE_IMAGE_TYPE_VDI",
    "supports_image_type_vhd": "COMPUTE_IMAGE_TYPE_VHD",
    "supports_image_type_vhdx": "COMPUTE_IMAGE_TYPE_VHDX",
    "supports_image_type_vmdk": "COMPUTE_IMAGE_TYPE_VMDK",
    "supports_image_type_ploop": "COMPUTE_IMAGE_TYPE_PLOOP",
}


def capability_traits(
    capabilities: Mapping[str, bool], excluded_image_types: Collection[str] = ()
) -> dict[str, bool]:
    """Return trait → whether the node should have it, for the capabilities a driver mentions.

    Capabilities without a trait are left out; image types in `excluded_image_types` (`raw`,
    `qcow2`, …) are False whatever the driver says.
    """
    excluded = {IMAGE_TYPE_PREFIX + image_type.lower() for image_type in excluded_image_types}
    return {
        CAPABILITY_TRAITS[name]: bool(supported) and name not in excluded
        for name, supported in capabilities.items()
        if name in CAPABILITY_TRAITS
    }
