"""Options of group [DEFAULT] that are not oslo.log's."""

import os

from oslo_config import cfg

OPTIONS = [
    cfg.StrOpt("tempdir", help="Directory for temporary files; unset: the system's."),
    cfg.StrOpt(
        "pybasedir",
        default=os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")),
        sample_default="<where the package is installed>",
        help="Base of state_path; kept for existing configuration files.",
    ),
    cfg.StrOpt("state_path", default="$pybasedir", help="Directory for state that outlives a run."),
    cfg.BoolOpt("log_options", default=True, help="Log all option values at DEBUG on start."),
]
