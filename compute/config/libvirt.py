"""Options of group [libvirt]: the connection to the hypervisor, and what only it has."""

from oslo_config import cfg

GROUP = "libvirt"

OPTIONS = [
    cfg.StrOpt(
        "connection_uri",
        default="qemu:///system",
        help="Where the libvirt driver connects to, like qemu:///system or test:///default.",
    ),
    cfg.ListOpt(
        "pmem_namespaces",
        default=[],
        help="Persistent memory for guests: `LABEL:namespace|namespace`, of one size each. "
        "Reported as CUSTOM_PMEM_NAMESPACE_<LABEL>.",
    ),
]
