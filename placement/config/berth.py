"""Options of group [berth]: what OpenStack Placement has no option for."""

from oslo_config import cfg

OPTIONS = [
    cfg.ListOpt(
        "noauth2_admin_roles",
        default=["admin"],
        help="Roles of the user `admin` with auth_strategy noauth2 when a request names none. "
        "OpenStack Placement knows only `admin`; add `service` to let that token reshape.",
    ),
]
