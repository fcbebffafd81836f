"""The options of group [libvirt] that change what is reported."""

import grp
import pwd

from oslo_config import cfg

from compute import exceptions
from virt.libvirt.disk_pools import Disks
from virt.libvirt.guest_cpu import CpuOptions
from virt.libvirt.guest_kinds import machine_types
from virt.libvirt.guest_traits import GuestOptions

_QEMU_TYPES = ("kvm", "qemu")


def guest_options(conf: cfg.ConfigOpts) -> GuestOptions:
    """Return what the configuration decides of guests."""
    options = conf.libvirt
    return GuestOptions(
        virt_type=options.virt_type,
        machine_types=machine_types(options.hw_machine_type),
        swtpm_enabled=options.swtpm_enabled,
        supported_tpm_secret_security=tuple(options.supported_tpm_secret_security),
        file_backed_memory=options.file_backed_memory,
        tdx_guests=options.num_intel_tdx_guests,
    )


def cpu_options(conf: cfg.ConfigOpts) -> CpuOptions:
    """Return what the configuration decides of guests' processors."""
    options = conf.libvirt
    return CpuOptions(
        options.cpu_mode,
        tuple(options.cpu_models),
        tuple(options.cpu_model_extra_flags),
        options.virt_type,
    )


def disks(conf: cfg.ConfigOpts) -> Disks:
    """Return where the configuration has guests' disks."""
    options = conf.libvirt
    return Disks(
        conf.instances_path,
        options.images_type,
        options.images_volume_group,
        options.images_rbd_pool,
        options.images_rbd_ceph_conf,
        options.rbd_user,
        conf.image_cache.subdirectory_name,
    )


def check_options(conf: cfg.ConfigOpts) -> None:
    """Raise InvalidConfiguration if options contradict each other, whatever the host has."""
    options = conf.libvirt
    is_custom = options.cpu_mode == "custom"
    if is_custom and not options.cpu_models:
        raise exceptions.InvalidConfiguration(
            "[libvirt]cpu_mode is custom: [libvirt]cpu_models has to name models."
        )
    if options.cpu_models and not is_custom:
        raise exceptions.InvalidConfiguration(
            "[libvirt]cpu_models is set, which needs [libvirt]cpu_mode = custom."
        )
    if options.images_type == "lvm" and not options.images_volume_group:
        raise exceptions.InvalidConfiguration(
            "[libvirt]images_type is lvm: [libvirt]images_volume_group has to name the group."
        )
    if options.images_type == "rbd" and not conf.force_raw_images:
        raise exceptions.InvalidConfiguration(
            "[libvirt]images_type is rbd, which needs force_raw_images = true."
        )
    if options.swtpm_enabled:
        _check_swtpm(conf)
    if options.file_backed_memory:
        _check_file_backed_memory(conf)


def _check_swtpm(conf: cfg.ConfigOpts) -> None:
    options = conf.libvirt
    if options.virt_type not in _QEMU_TYPES:
        raise exceptions.InvalidConfiguration(
            f"[libvirt]swtpm_enabled needs [libvirt]virt_type kvm or qemu, not {options.virt_type}."
        )
    owners = {
        ("user", options.swtpm_user): pwd.getpwnam,
        ("group", options.swtpm_group): grp.getgrnam,
    }
    for (kind, name), look_up in owners.items():
        try:
            look_up(name)
        except KeyError as error:
            raise exceptions.InvalidConfiguration(
                f"[libvirt]swtpm_enabled needs the {kind} that [libvirt]swtpm_{kind} names: this "
                f"host has no {kind} {name}."
            ) from error


def _check_file_backed_memory(conf: cfg.ConfigOpts) -> None:
    what = "[libvirt]file_backed_memory"
    if conf.libvirt.virt_type not in _QEMU_TYPES:
        raise exceptions.InvalidConfiguration(
            f"{what} needs [libvirt]virt_type kvm or qemu, not {conf.libvirt.virt_type}."
        )
    if conf.ram_allocation_ratio != 1.0:
        raise exceptions.InvalidConfiguration(f"{what} needs ram_allocation_ratio = 1.0.")
    if conf.reserved_host_memory_mb:
        raise exceptions.InvalidConfiguration(
            f"{what} needs reserved_host_memory_mb = 0: the host's own memory isn't in the files."
        )
    if conf.berth.numa_in_placement:
        raise exceptions.InvalidConfiguration(
            f"{what} is on no NUMA cell: [berth]numa_in_placement can't be set with it."
        )
