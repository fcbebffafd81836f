"""Which values nova takes for image properties: facts, no rules."""

from collections.abc import Mapping


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ARCHITECTURES = _words(
    "alpha armv6 armv7l armv7b aarch64 cris i686 ia64 lm32 m68k microblaze microblazeel mips mipsel"
    " mips64 mips64el openrisc parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb s390 s390x sh4 sh4eb"
    " sparc sparc64 unicore32 x86_64 xtensa xtensaeb"
)
BUSES = ("fdc", "ide", "sata", "scsi", "usb", "virtio", "xen", "lxc", "uml")
VIDEO = ("cirrus", "qxl", "vga", "vmvga", "xen", "virtio", "gop", "none", "bochs")
VIFS = _words(
    "virtio ne2k_pci pcnet rtl8139 e1000 e1000e netfront spapr-vlan lan9118 sriov vmxnet vmxnet3"
    " igb"
)
SOUND = ("sb16", "es1370", "pcspk", "ac97", "ich6", "ich9", "usb", "virtio")
CPU_POLICIES = ("dedicated", "shared", "mixed")
THREAD_POLICIES = ("prefer", "isolate", "require")
AFFINITY = ("required", "legacy", "preferred", "socket")
SECURE_BOOT = ("required", "disabled", "optional")
ENCRYPTION_FORMATS = ("plain", "luks", "luksv2")
MEMORY_ENCRYPTION = ("amd-sev", "amd-sev-es", "amd-sev-snp", "intel-tdx")
ADDRESS_MODES = ("passthrough", "emulate")
TPM_VERSIONS = ("1.2", "2.0")
TPM_MODELS = ("tpm-tis", "tpm-crb")

#: property → the values it may have, as they are
EXACT: Mapping[str, tuple[str, ...]] = {
    "hw_cdrom_bus": BUSES,
    "hw_cpu_policy": CPU_POLICIES,
    "hw_cpu_thread_policy": THREAD_POLICIES,
    "hw_disk_bus": BUSES,
    "hw_ephemeral_encryption_format": ENCRYPTION_FORMATS,
    "hw_firmware_type": ("uefi", "bios"),
    "hw_floppy_bus": BUSES,
    "hw_input_bus": ("usb", "virtio"),
    "hw_maxphysaddr_mode": ADDRESS_MODES,
    "hw_mem_encryption_model": MEMORY_ENCRYPTION,
    "hw_pci_numa_affinity_policy": AFFINITY,
    "hw_pointer_model": ("usbtablet",),
    "hw_rescue_bus": BUSES,
    "hw_rescue_device": ("cdrom", "disk", "floppy", "fs", "lun"),
    "hw_rng_model": ("virtio",),
    "hw_sound_model": SOUND,
    "hw_tpm_model": TPM_MODELS,
    "hw_tpm_version": TPM_VERSIONS,
    "hw_usb_model": ("none", "nec-xhci", "qemu-xhci"),
    "hw_video_model": VIDEO,
    "hw_viommu_model": ("intel", "smmuv3", "virtio", "auto"),
    "hw_watchdog_action": ("none", "pause", "poweroff", "reset", "disabled"),
    "img_config_drive": ("optional", "mandatory"),
    "img_signature_hash_method": ("SHA-224", "SHA-256", "SHA-384", "SHA-512"),
    "img_signature_key_type": _words(
        "DSA ECC_SECP384R1 ECC_SECP521R1 ECC_SECT409K1 ECC_SECT409R1 ECC_SECT571K1 ECC_SECT571R1"
        " RSA-PSS"
    ),
    "os_secure_boot": SECURE_BOOT,
}
#: property → the values it may have, in lower case
ANY_CASE: Mapping[str, tuple[str, ...]] = {
    "hw_architecture": ARCHITECTURES,
    "hw_emulation_architecture": ARCHITECTURES,
    "hw_scsi_model": _words(
        "buslogic ibmvscsi lsilogic lsisas1068 lsisas1078 virtio-scsi vmpvscsi"
    ),
    "hw_vif_model": VIFS,
    "hw_vm_mode": ("hvm", "xen", "uml", "exe"),
    "img_hv_type": _words(
        "baremetal bhyve docker fake hyperv ironic kqemu kvm lxc lxd openvz parallels phyp qemu"
        " test uml vbox vz vmware xen zvm prsm"
    ),
    "os_type": ("linux", "windows"),
}
_ARCHITECTURE_ALIASES = {
    "i386": "i686",
    "i486": "i686",
    "i586": "i686",
    "x86_32": "i686",
    "amd64": "x86_64",
}
#: property → old name of a value → today's
ALIASES: Mapping[str, Mapping[str, str]] = {
    "hw_architecture": _ARCHITECTURE_ALIASES,
    "hw_emulation_architecture": _ARCHITECTURE_ALIASES,
    "hw_scsi_model": {"lsilogicsas": "lsisas1068", "paravirtual": "vmpvscsi"},
    "hw_vif_model": {
        "virtuale1000": "e1000",
        "virtuale1000e": "e1000e",
        "virtualpcnet32": "pcnet",
        "virtualsriovethernetcard": "sriov",
        "virtualvmxnet": "vmxnet",
        "virtualvmxnet3": "vmxnet3",
    },
    "hw_vm_mode": {"hv": "hvm", "pv": "xen", "baremetal": "hvm"},
    "img_hv_type": {"xapi": "xen"},
}
BOOLEANS = frozenset(
    _words(
        "hw_boot_menu hw_ephemeral_encryption hw_firmware_stateless hw_ipxe_boot hw_locked_memory"
        " hw_mem_encryption hw_pmu hw_qemu_guest_agent hw_time_hpet hw_vif_multiqueue_enabled"
        " hw_virtio_packed_ring img_bdm_v2 img_bittorrent img_cache_in_nova img_hide_hypervisor_id"
        " img_linked_clone img_use_agent os_require_quiesce os_skip_agent_inject_files_at_boot"
        " os_skip_agent_inject_ssh"
    )
)
NUMBERS = frozenset(
    _words(
        "hw_cpu_cores hw_cpu_max_cores hw_cpu_max_sockets hw_cpu_max_threads hw_cpu_sockets"
        " hw_cpu_threads hw_device_id hw_maxphysaddr_bits hw_numa_nodes hw_redirected_usb_ports"
        " hw_serial_port_count hw_video_ram img_compression_level img_version"
    )
)
TEXTS = frozenset(
    _words(
        "hw_auto_disk_config hw_cpu_realtime_mask hw_disk_type hw_ephemeral_encryption_secret_uuid"
        " hw_machine_type hw_mem_page_size img_owner_id img_root_device_name img_signature"
        " img_signature_certificate_uuid os_admin_user os_command_line os_distro"
    )
)
LISTS = frozenset({"img_block_device_mapping", "img_mappings"})
VERSIONS = frozenset({"img_hv_requested_version"})
#: old name of a property → today's
OLD_NAMES: Mapping[str, str] = {
    "architecture": "hw_architecture",
    "auto_disk_config": "hw_auto_disk_config",
    "bdm_v2": "img_bdm_v2",
    "bittorrent": "img_bittorrent",
    "block_device_mapping": "img_block_device_mapping",
    "cache_in_nova": "img_cache_in_nova",
    "hypervisor_type": "img_hv_type",
    "hypervisor_version_requires": "img_hv_requested_version",
    "ipxe_boot": "hw_ipxe_boot",
    "mappings": "img_mappings",
    "owner_id": "img_owner_id",
    "root_device_name": "img_root_device_name",
    "vm_mode": "hw_vm_mode",
    "vmware_disktype": "hw_disk_type",
    "vmware_image_version": "img_version",
    "vmware_linked_clone": "img_linked_clone",
    "vmware_ostype": "os_distro",
    "xenapi_device_id": "hw_device_id",
    "xenapi_image_compression_level": "img_compression_level",
    "xenapi_skip_agent_inject_files_at_boot": "os_skip_agent_inject_files_at_boot",
    "xenapi_skip_agent_inject_ssh": "os_skip_agent_inject_ssh",
    "xenapi_use_agent": "img_use_agent",
}
