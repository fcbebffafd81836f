"""A driver of hypervisors that libvirt manages (compute.md §6.5).

`driver` is a NodeDriver; its facts come from `libvirt_host_info`, which asks `hypervisor`, the only
module that knows the library. The `*_xml` modules read libvirt's descriptions.
"""

from virt.libvirt.driver import LibvirtDriver

__all__ = ["LibvirtDriver"]
