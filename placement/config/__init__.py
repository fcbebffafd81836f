"""Configuration: oslo.config options with the reference's names and defaults (rest-api.md 7).

The configuration is read by :func:`load` and passed on; nothing here is global.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_config import cfg
from oslo_log import log as oslo_log
from oslo_middleware import cors, http_proxy_to_wsgi
from oslo_middleware import opts as middleware_options
from oslo_policy import opts as policy_options

from placement.config import api, berth, database, default, placement, sources, workarounds
from placement.config.sources import PROJECT

PROGRAM = "placement"

#: option groups, in the order of rest-api.md 7.2
GROUPS: tuple[tuple[str | None, Sequence[cfg.Opt]], ...] = (
    (None, default.OPTIONS),
    ("api", api.OPTIONS),
    ("placement", placement.OPTIONS),
    ("workarounds", workarounds.OPTIONS),
    ("placement_database", database.OPTIONS),
    ("berth", berth.OPTIONS),
    ("cors", cors.CORS_OPTS),
    ("oslo_middleware", http_proxy_to_wsgi.OPTS),
    *middleware_options.list_opts_healthcheck(),
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

ALEMBIC_LEVEL = "alembic=WARN"

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
    oslo_log.set_defaults(default_log_levels=_log_levels())


def _log_levels() -> list[str]:
    """Return oslo.log's levels of libraries, and alembic's, which logs its own steps at INFO."""
    levels: list[str] = oslo_log.get_default_log_levels()
    return levels if ALEMBIC_LEVEL in levels else [*levels, ALEMBIC_LEVEL]


def register(conf: cfg.ConfigOpts) -> None:
    """Register on `conf` the options that it lacks: the service's and oslo.log's.

    If `conf` has parsed its command line, oslo.log's options are left out, as oslo.config takes no
    options of the command line then.
    """
    register_service(conf)
    with contextlib.suppress(cfg.ArgsAlreadyParsedError):
        oslo_log.register_options(conf)
        conf.set_default("default_log_levels", _log_levels())


def register_service(conf: cfg.ConfigOpts) -> None:
    """Register on `conf` those options that it lacks and that the service itself reads.

    An option that is registered under the same name stays as it is, with its default.
    """
    for group, options in GROUPS:
        for option in options:
            if _added(conf, option, group) and group == "cors" and option.name in CORS_DEFAULTS:
                conf.set_default(option.name, CORS_DEFAULTS[option.name], group=group)
    policy_options._register(conf)


def _added(conf: cfg.ConfigOpts, option: cfg.Opt, group: str | None) -> bool:
    """Register the option unless its name is taken, and say whether it was registered."""
    try:
        return bool(conf.register_opt(option, group=group))
    except cfg.DuplicateOptError:
        return False


def load(
    argv: Sequence[str] = (),
    files: Sequence[str] | None = None,
    environ: bool = True,
    overrides: Overrides | None = None,
) -> cfg.ConfigOpts:
    """Read the configuration; the environment overrides files, and files override defaults.

    Raises cfg.Error.

    :param argv: command line arguments (`--config-file`, `--config-dir`, logging options)
    :param files: the files to read; None: those that OS_PLACEMENT_CONFIG_DIR names, or else
        search the places of rest-api.md 7.1
    :param environ: whether `OS_<GROUP>__<OPTION>` variables are read
    :param overrides: `{(group or None, option): value}`, which override everything else
    """
    conf = cfg.ConfigOpts()
    register(conf)
    for (group, option), value in (overrides or {}).items():
        conf.set_override(option, value, group=group)
    sources.read(conf, argv, PROGRAM, files, environ)
    return conf


def parse_if_unparsed(conf: cfg.ConfigOpts) -> None:
    """Give `conf` an empty command line and no files, unless it was parsed.

    Before that, oslo.config doesn't look for files, and so oslo.policy can't ask for its own.
    Raises oslo.config's errors, for instance if an option is missing that must have a value.
    """
    try:
        conf.find_file(PROGRAM)
    except cfg.NotInitializedError:
        conf([], project=PROJECT, default_config_files=[], default_config_dirs=[])
