"""Options of group [placement_database]: the database that offline commands open directly."""

from oslo_config import cfg

GROUP = "placement_database"

OPTIONS = [
    cfg.StrOpt(
        "connection",
        secret=True,
        help="URL of the placement database, for commands that run while the service is down.",
    ),
]
