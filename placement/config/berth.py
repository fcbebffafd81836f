"""Options of group [berth], which OpenStack Placement doesn't have."""

from oslo_config import cfg

OPTIONS = [
    cfg.ListOpt(
        "noauth2_admin_roles",
        default=["admin"],
        help="Roles of the user `admin` with auth_strategy noauth2 if a request names no roles. "
        "OpenStack Placement has only `admin`; add `service` to let that user reshape.",
    ),
    cfg.FloatOpt(
        "snapshot_audit_interval",
        default=60,
        min=0,
        help="Searches for allocation candidates read a snapshot in memory. Each worker compares "
        "its snapshot with the tables at least every so many seconds, to notice changes by "
        "writers other than Berth. It compares in the background, or before it answers a search "
        "if the last comparison is older than this. Lists of providers and usages of projects "
        "that are remembered are read again after the same time. 0: never.",
    ),
    cfg.StrOpt(
        "beside_reference",
        default="auto",
        choices=[
            ("auto", "look for an hour after a write of OpenStack Placement was noticed"),
            ("always", "look before every search"),
            ("never", "don't look; only the audits notice other writers"),
        ],
        help="Whether OpenStack Placement may write to the same database. If so, each search for "
        "allocation candidates first looks at the generations of all providers, to see those "
        "writes. With `auto`, a worker begins to look when it loads its snapshot and finds such a "
        "write of the last hour, when an audit (see snapshot_audit_interval) finds one, or when "
        "another worker found one. If snapshot_audit_interval is 0, nothing audits: a worker that "
        "has noticed no such write for an hour never begins to look by itself. Choose `always` "
        "then.",
    ),
    cfg.FloatOpt(
        "search_time_limit",
        default=10,
        min=0,
        help="Seconds that a search for allocation candidates may take; 0: no limit. After this "
        "time the response has the candidates found so far if the request has a limit; it is 503 "
        "if the request has no limit or nothing was found. The searches of one worker share a "
        "processor.",
    ),
    cfg.IntOpt(
        "search_memory_limit",
        default=128,
        min=0,
        help="MiB that the candidates of one search may take, about as much as in the response; "
        "0: no limit. A search that reaches this limit ends as with search_time_limit. With the "
        "default, one search adds at most about 200 MiB to a worker's memory, and four concurrent "
        "searches 650 MiB.",
    ),
    cfg.BoolOpt(
        "log_request_cost",
        default=False,
        help="Besides the line of the logger `placement.requestlog`, log a line of "
        "`placement.requestcost` for each request, with its duration in milliseconds and its "
        "number of SQL statements. JSON logs always have these values.",
    ),
    cfg.BoolOpt(
        "extensions",
        default=True,
        help="Whether to offer what Berth has beyond OpenStack Placement, below /berth/v1. If "
        "not, the answer to any request there is 404, as OpenStack Placement's is.",
    ),
    cfg.BoolOpt(
        "ui",
        default=True,
        help="Whether to serve the page at /berth/v1/ui/. Its files need no token; what it shows "
        "it asks of the API with the reader's. A log-in with user and password goes from the "
        "browser to the keystone that [keystone_authtoken]www_authenticate_uri names, or else "
        "auth_url. Without `extensions` there is no page.",
    ),
    cfg.StrOpt(
        "ui_dashboard",
        help="Where the page at /berth/v1/ui/ leads from a tree: an address with http or https, in "
        "which {name} and {uuid} become those of the root, such as "
        "https://grafana.example/d/hosts?var-host={name}. Everybody who reaches the page's files "
        "can read it. Unset: it leads nowhere.",
    ),
    cfg.StrOpt(
        "names_file",
        help="A JSON file with names for people, which `GET /berth/v1/names` answers and the page "
        'shows beside uuids: {"aggregates": {"<uuid>": "<name>"}, "projects": {"<id>": "<name>"}, '
        '"users": {"<id>": "<name>"}}. Each part may be missing. At most 8 MiB, 255 characters a '
        "name. It is read again when it changes. A file that can't be used is told in the log, and "
        "there are no names then. Unset: there are none.",
    ),
    cfg.StrOpt(
        "metrics",
        default="addresses",
        choices=[
            ("off", "not at the address of the API"),
            ("addresses", "to metrics_allowed_source_ranges, without a token"),
            ("token", "to callers whom the policy rule berth:metrics allows"),
        ],
        help="Who may read /metrics and /metrics/providers. A port that placement-api opens with "
        "--metrics-port serves them in any case, to this machine only.",
    ),
    cfg.ListOpt(
        "metrics_allowed_source_ranges",
        default=["127.0.0.0/8", "::1"],
        help="With `metrics = addresses`, the addresses and networks that may read metrics. "
        "Requests that came through a proxy are refused: they have its address. So are those that "
        "came through a socket file.",
    ),
    cfg.BoolOpt(
        "server_timing",
        default=False,
        help="Whether each answer has the header `Server-Timing`, with the milliseconds of the "
        "request, those of them that it waited for the database, and the number of SQL "
        "statements. Browsers and clients show it. Anybody who gets an answer sees it.",
    ),
    cfg.BoolOpt(
        "traces",
        default=False,
        help="Whether each request gets a span of OpenTelemetry, with its route, SQL statements, "
        "retries and candidates. The variables of OpenTelemetry say where spans go, such as "
        "OTEL_EXPORTER_OTLP_ENDPOINT. It needs the extra `otel`.",
    ),
    cfg.IntOpt(
        "changes_waits",
        min=0,
        help="How many requests of a process may wait for changes (`GET /berth/v1/changes` with "
        "`wait`); each uses a thread meanwhile. Use fewer than the process has threads. Further "
        "requests get 503 at once. placement-api uses at most half of the threads of a worker for "
        "this, whatever this option says. 0: `wait` counts as 0. Unset: 2 under placement-api, and "
        "1 under other servers, which don't tell how many threads they have.",
    ),
    cfg.IntOpt(
        "explain_budget_ms",
        default=200,
        min=1,
        help="Milliseconds that an explanation of a search may take to find out what would help, "
        "and that the log line about an empty search may take. After this time the explanation "
        "tells what it has found so far.",
    ),
    cfg.IntOpt(
        "suspects_grace",
        default=600,
        min=0,
        help="Seconds that an instance must hold VCPU, PCPU or MEMORY_MB of two hosts, without a "
        "migration beside it and without any write of its allocations, before it is listed in "
        "`GET /berth/v1/suspects` and counted in `placement_suspects`. 0: at once.",
    ),
    cfg.IntOpt(
        "suspects_untouched_days",
        default=0,
        min=0,
        max=36500,
        help="Days without any change in a tree of providers after which it is a suspect, "
        "`untouched`: its agent may be gone. A host on which nothing begins or ends changes "
        "nothing. 0: such trees aren't looked for.",
    ),
    cfg.IntOpt(
        "survives_interval",
        default=0,
        min=0,
        help="Seconds after which a page of metrics has the losses of hosts judged anew, for "
        "`placement_survivable_sets`: of each host and of each aggregate, whether all that is on "
        "it would fit elsewhere. One worker at a time does so, in the background; each time it "
        "may take some 20 seconds of processor time, or search_time_limit twice if that is less. "
        "0: nothing is judged, and there is no such metric.",
    ),
    cfg.IntOpt(
        "max_body_size",
        default=32 * 1024 * 1024,
        min=1024,
        help="The longest body of a request, in bytes; the response to a longer one is 413. The "
        "default is enough for a reshape that moves about 100,000 consumers.",
    ),
    cfg.IntOpt(
        "token_validations",
        default=2,
        min=1,
        help="With auth_strategy keystone, how many requests of a process may wait for keystone to "
        "validate a token; use fewer than the process has threads. While keystone is slow, further "
        "requests that need it get 503 at once, and requests with a cached token go on.",
    ),
]
