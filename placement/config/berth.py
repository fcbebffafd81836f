"""Options of group [berth]: what OpenStack Placement has no option for."""

from oslo_config import cfg

OPTIONS = [
    cfg.ListOpt(
        "noauth2_admin_roles",
        default=["admin"],
        help="Roles of the user `admin` with auth_strategy noauth2 when a request names none. "
        "OpenStack Placement knows only `admin`; add `service` to let that token reshape.",
    ),
    cfg.FloatOpt(
        "snapshot_audit_interval",
        default=60,
        min=0,
        help="Seconds after which a search for allocation candidates compares the process's "
        "picture of the cloud with the tables, to notice writers that aren't Berth; 0: never.",
    ),
    cfg.BoolOpt(
        "log_request_cost",
        default=False,
        help="Beside the line of `placement.requestlog`, log a line for each request by "
        "`placement.requestcost`: its duration in milliseconds and its number of SQL statements. "
        "JSON logs have them anyway.",
    ),
    cfg.IntOpt(
        "max_body_size",
        default=32 * 1024 * 1024,
        min=1024,
        help="The longest body of a request, in bytes; a longer one is refused with 413. The "
        "default takes a reshape that moves some 100,000 consumers.",
    ),
]
