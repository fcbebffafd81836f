"""Options of group [libvirt]: the connection to the hypervisor."""

from oslo_config import cfg

GROUP = "libvirt"

OPTIONS = [
    cfg.StrOpt(
        "connection_uri",
        default="qemu:///system",
        help="Where the libvirt driver connects to, like qemu:///system or test:///default.",
    ),
]
