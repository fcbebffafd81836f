"""Options of group [DEFAULT]: which host this is, where it keeps state, what drives it."""

import socket

from oslo_config import cfg

GROUP = None
#: the default of `state_path`
STATE_PATH = "/var/lib/berth"

OPTIONS = [
    cfg.StrOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<current hostname>",
        help="Name of this compute service. Nodes are recorded under it; renaming a host that "
        "already has nodes is refused at start.",
    ),
    cfg.HostAddressOpt(
        "my_ip",
        help="Address of this host, kept in its compute node record. Unset: the address of the "
        "interface that has the default route.",
    ),
    cfg.StrOpt(
        "state_path",
        default=STATE_PATH,
        help="Directory for the node identity file `compute_id` and the compute node records. "
        "Must survive a restart.",
    ),
    cfg.StrOpt(
        "compute_driver",
        help="Driver to load: the name of an entry point of group `virt.drivers` (for example "
        "`host`), a name below the package `virt` (`fake.SmallFakeDriver`), or a full dotted path.",
    ),
    cfg.BoolOpt(
        "enable_new_services",
        default=True,
        help="Whether a new host takes instances. False is refused at a host's first start: no "
        "command of this side enables it later.",
    ),
]
