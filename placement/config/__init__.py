"""Configuration: oslo.config options with the reference's names and defaults (rest-api.md 7).

The configuration is read by :func:`load` and passed on; nothing here is global.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_config import cfg
from oslo_log import log as oslo_log
from oslo_middleware import cors, http_proxy_to_wsgi
from oslo_policy import opts as policy_options

from placement.config import api, berth, database, default, placement, workarounds

PROJECT = "placement"
PROGRAM = "placement"

#: option groups, in the order of rest-api.md 7.2
GROUPS = (
    (None, default.OPTIONS),
    ("api", api.OPTIONS),
    ("placement", placement.OPTIONS),
    ("workarounds", workarounds.OPTIONS),
    ("placement_database", database.OPTIONS),
    ("berth", berth.OPTIONS),
    ("cors", cors.CORS_OPTS),
    ("oslo_middleware", http_proxy_to_wsgi.OPTS),
)

#: defaults for the headers and methods that browsers may use (rest-api.md 1.11)
CORS_DEFAULTS = {
    "allow_headers": [
        "X-Auth-Token",
        "X-Openstack-Request-Id",
        "X-Identity-Status",
        "X-Roles",
        "X-Service-Catalog",
        "X-User-Id",
        "X-Tenant-Id",
        "OpenStack-API-Version",
    ],
    "expose_headers": [
        "X-Auth-Token",
        "X-Openstack-Request-Id",
        "X-Subject-Token",
        "X-Service-Token",
        "OpenStack-API-Version",
    ],
    "allow_methods": ["GET", "PUT", "POST", "DELETE", "PATCH"],
}

Overrides = Mapping[tuple[str | None, str], Any]


def list_opts() -> list[tuple[str | None, list[cfg.Opt]]]:
    """Return all option groups; this is the entry point in `oslo.config.opts`."""
    return [(group or "DEFAULT", list(options)) for group, options in GROUPS]


def set_library_defaults() -> None:
    """Set Berth's defaults for options of other libraries, in the whole process.

    This is the entry point in `oslo.config.opts.defaults`; a process that calls it only writes a
    sample configuration.
    """
    cors.set_defaults(**CORS_DEFAULTS)


def register(conf: cfg.ConfigOpts) -> None:
    """Register the service's options on `conf`; repeated calls are harmless."""
    for group, options in GROUPS:
        conf.register_opts(options, group=group)
    for name, value in CORS_DEFAULTS.items():
        conf.set_default(name, value, group="cors")
    oslo_log.register_options(conf)
    policy_options._register(conf)


def load(
    argv: Sequence[str] = (),
    files: Sequence[str] | None = None,
    environ: bool = True,
    overrides: Overrides | None = None,
) -> cfg.ConfigOpts:
    """Read the configuration; the environment overrides files, and files override defaults.

    Raises cfg.Error.

    :param argv: command line arguments (`--config-file`, `--config-dir`, logging options)
    :param files: the files to read; None: search the places of rest-api.md 7.1
    :param environ: whether `OS_<GROUP>__<OPTION>` variables are read
    :param overrides: `{(group or None, option): value}`, which override everything else
    """
    conf = cfg.ConfigOpts()
    register(conf)
    for (group, option), value in (overrides or {}).items():
        conf.set_override(option, value, group=group)
    conf(
        list(argv),
        project=PROJECT,
        prog=PROGRAM,
        default_config_files=None if files is None else list(files),
        default_config_dirs=None if files is None else [],
        use_env=environ,
    )
    return conf


def files_for_wsgi(environ: Mapping[str, str] = os.environ) -> list[str] | None:
    """Return the file that a WSGI process must read: `$OS_PLACEMENT_CONFIG_DIR/placement.conf`.

    Without the variable, return None: the usual places are searched.
    """
    folder = environ.get("OS_PLACEMENT_CONFIG_DIR")
    return [os.path.join(folder, "placement.conf")] if folder else None
