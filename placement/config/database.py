"""Options of group [placement_database]."""

from oslo_config import cfg

OPTIONS = [
    cfg.StrOpt("connection", secret=True, required=True, help="SQLAlchemy URL of the database."),
    cfg.StrOpt(
        "connection_parameters",
        default="",
        help="Extra parameters appended to the URL: param1=value1&param2=value2.",
    ),
    cfg.StrOpt("slave_connection", secret=True, help="SQLAlchemy URL of a read replica."),
    cfg.BoolOpt(
        "sync_on_startup",
        default=False,
        help="Bring the schema up to date when the service starts.",
    ),
    cfg.BoolOpt(
        "sqlite_synchronous",
        default=True,
        help="Whether SQLite waits for the disk before a commit is done.",
    ),
    cfg.StrOpt(
        "mysql_sql_mode",
        default="TRADITIONAL",
        help="SQL mode of MySQL sessions; empty: the server's own.",
    ),
    cfg.IntOpt(
        "connection_recycle_time",
        default=3600,
        min=-1,
        help="Seconds after which a pooled connection is replaced; -1: never.",
    ),
    cfg.IntOpt(
        "max_pool_size",
        min=0,
        help="Maximum number of connections that the pool keeps open; 0: no limit.",
    ),
    cfg.IntOpt(
        "max_overflow",
        min=-1,
        help="Maximum number of connections beyond the pool's size; -1: no limit.",
    ),
    cfg.IntOpt("pool_timeout", min=0, help="Seconds to wait for a free connection of the pool."),
    cfg.IntOpt(
        "max_retries", default=10, min=-1, help="Attempts to connect at start; -1: no limit."
    ),
    cfg.IntOpt(
        "retry_interval",
        default=10,
        min=0,
        help="Seconds between attempts to connect at start.",
    ),
    cfg.IntOpt(
        "connection_debug",
        default=0,
        help="From 0, log nothing, to 100, log every SQL statement with its result.",
    ),
    cfg.BoolOpt(
        "connection_trace",
        default=False,
        help="Add the calling code to SQL statements, as a comment.",
    ),
]
