"""Group [placement]: how the compute side reaches placement (compute.md §3.1).

The options are keystoneauth1's. Those of the authentication plugin depend on the plugin that
`auth_type` names, so they are registered only when the adapter is built.
"""

from __future__ import annotations

from keystoneauth1 import loading
from keystoneauth1.adapter import Adapter
from oslo_config import cfg

from compute.config.credentials import load_adapter

GROUP = "placement"
#: seconds to wait for an answer unless `[placement]timeout` says otherwise
TIMEOUT = 60

#: those that don't depend on the authentication plugin; made once, as that takes long
OPTIONS: list[cfg.Opt] = [
    *loading.get_auth_common_conf_options(),
    *loading.get_session_conf_options(),
    *loading.get_adapter_conf_options(include_deprecated=False),
]


def register_options(conf: cfg.ConfigOpts) -> None:
    """Register group [placement] on `conf`: keystoneauth1's options with our defaults."""
    conf.register_opts(OPTIONS, group=GROUP)
    # keystoneauth1 sets no timeout: a placement that never answers would block the agent for ever.
    conf.set_default("timeout", TIMEOUT, group=GROUP)
    conf.set_default("service_type", "placement", group=GROUP)
    conf.set_default("valid_interfaces", ["internal", "public"], group=GROUP)


def build_adapter(conf: cfg.ConfigOpts) -> Adapter:
    """Build the adapter that group [placement] of `conf` describes. It sends nothing yet.

    Raise keystoneauth1's exceptions if the plugin is unknown or lacks an option it must have, and
    OptionError, which is one of them, for a URL that is none.
    """
    return load_adapter(conf, GROUP)
