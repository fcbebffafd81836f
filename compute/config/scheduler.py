"""Options of group [scheduler]: how candidates are asked for."""

from oslo_config import cfg

GROUP = "scheduler"

OPTIONS = [
    cfg.IntOpt(
        "max_placement_results",
        default=1000,
        min=1,
        help="Limit given to GET /allocation_candidates.",
    ),
]
