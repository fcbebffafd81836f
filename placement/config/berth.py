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
        help="Seconds: what a search for allocation candidates is answered from was compared with "
        "the tables no longer ago, to notice writers that aren't Berth. Workers compare beside the "
        "requests, and before an answer where that comes too late; 0: never.",
    ),
    cfg.FloatOpt(
        "search_time_limit",
        default=10,
        min=0,
        help="Seconds that a search for allocation candidates may take; 0: any time. Then it "
        "answers what it has found if the request has a limit, and 503 if it has none or nothing "
        "was found. The searches of one worker share a processor.",
    ),
    cfg.IntOpt(
        "search_memory_limit",
        default=128,
        min=0,
        help="MiB that the candidates of one search may take, about as much as they take in the "
        "answer; 0: any size. Then it answers as it does when its time is over. With the default, "
        "one search adds some 200 MiB to a worker at most, and four at once 650.",
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
    cfg.IntOpt(
        "token_validations",
        default=2,
        min=1,
        help="With auth_strategy keystone, how many requests of a process may wait for keystone to "
        "validate a token; fewer than it has threads. While keystone is slow, others that need it "
        "are answered 503 at once, and those whose token is known go on.",
    ),
]
