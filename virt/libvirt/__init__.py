"""A driver of hypervisors that libvirt manages (compute.md §6.5)."""

from virt.libvirt.driver import LibvirtDriver

__all__ = ["LibvirtDriver"]
