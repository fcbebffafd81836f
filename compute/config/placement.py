"""Group [placement]: how the compute side reaches placement (compute.md §3.1).

The options are keystoneauth1's. Those of the authentication plugin depend on the plugin that
`auth_type` names, so they are registered only when the adapter is built.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from keystoneauth1 import loading
from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import OptionError
from oslo_config import cfg

GROUP = "placement"
#: seconds to wait for an answer unless `[placement]timeout` says otherwise
TIMEOUT = 60
#: options that are URLs; which of them exist depends on the plugin
URLS = ("endpoint_override", "auth_url", "endpoint")


def list_options() -> list[cfg.Opt]:
    """Return the options of group [placement] that don't depend on the authentication plugin."""
    return [
        *loading.get_auth_common_conf_options(),
        *loading.get_session_conf_options(),
        *loading.get_adapter_conf_options(include_deprecated=False),
    ]


def register_options(conf: cfg.ConfigOpts) -> None:
    """Register group [placement] on `conf`: keystoneauth1's options with our defaults."""
    loading.register_auth_conf_options(conf, GROUP)
    loading.register_session_conf_options(conf, GROUP)
    loading.register_adapter_conf_options(conf, GROUP, include_deprecated=False)
    # keystoneauth1 sets no timeout: a placement that never answers would block the agent for ever.
    conf.set_default("timeout", TIMEOUT, group=GROUP)
    conf.set_default("service_type", "placement", group=GROUP)
    conf.set_default("valid_interfaces", ["internal", "public"], group=GROUP)


def build_adapter(conf: cfg.ConfigOpts) -> Adapter:
    """Build the adapter that group [placement] of `conf` describes. It sends nothing yet.

    Raise keystoneauth1's exceptions if the plugin is unknown or lacks an option it must have, and
    OptionError, which is one of them, for a URL that is none.
    """
    auth = loading.load_auth_from_conf_options(conf, GROUP)
    check_urls(conf, GROUP)
    session = loading.load_session_from_conf_options(conf, GROUP, auth=auth)
    return loading.load_adapter_from_conf_options(
        conf, GROUP, session=session, auth=auth, raise_exc=False
    )


def check_urls(conf: cfg.ConfigOpts, group: str) -> None:
    """Raise keystoneauth1's OptionError if an option of the group should be a URL, and isn't one.

    Call it when the options of the group's authentication plugin are registered.
    """
    for name in URLS:
        value = getattr(conf[group], name, None)
        if value and not _is_url(value):
            # a password before the host must not be shown
            shown = value.rpartition("@")[2]
            raise OptionError(
                f"{name} is not a URL: {shown!r}. Write it as http://host:port or "
                "https://host/path."
            )


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
