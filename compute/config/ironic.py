"""Options of group [ironic]: where bare metal machines are listed."""

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = "ironic"

OPTIONS = [
    cfg.StrOpt(
        "node_source",
        default="file",
        choices=[
            ("file", "the YAML file that inventory_file names"),
            ("openstack", "the bare metal service, asked with openstacksdk (extra `ironic`)"),
        ],
        help="What lists the machines.",
    ),
    cfg.StrOpt(
        "inventory_file",
        default="$state_path/baremetal.yaml",
        help="File that lists the machines. Changes count from the next update on.",
    ),
    cfg.ListOpt(
        "peer_list",
        default=[],
        help="Hosts whose services share the machines, each taking a part; this host is one of "
        "them. Empty, or with `shard`: this host has them all.",
    ),
    cfg.StrOpt(
        "conductor_group",
        deprecated_name="partition_key",
        help="Only machines of this conductor group.",
    ),
    cfg.StrOpt("shard", help="Only machines of this shard. `peer_list` doesn't count then."),
    # How to reach the bare metal service; the plugin that `auth_type` names has more.
    *loading.get_auth_common_conf_options(),
    *loading.get_session_conf_options(),
    *loading.get_adapter_conf_options(include_deprecated=False),
]

# keystoneauth1 has no timeout: a service that never answers would hold the agent for ever.
cfg.set_defaults(
    OPTIONS, timeout=60, service_type="baremetal", valid_interfaces=["internal", "public"]
)
