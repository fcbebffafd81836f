"""Options of group [workarounds]."""

from oslo_config import cfg

OPTIONS = [
    cfg.BoolOpt(
        "optimize_for_wide_provider_trees",
        default=False,
        help="Has no effect: Berth's search is always optimised this way. Accepted for existing "
        "configuration files.",
    ),
]
