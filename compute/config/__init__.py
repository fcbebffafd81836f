"""Configuration of the compute side: oslo.config options under nova's names (compute.md §11).

The configuration is read by :func:`load` and passed on; nothing here is global.
"""

import codecs
import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_config import cfg
from oslo_config.sources import _environment
from oslo_log import log as oslo_log

from compute.config import (
    berth,
    compute,
    devices,
    filter_scheduler,
    identity,
    image_cache,
    ironic,
    libvirt,
    pci,
    placement,
    placement_database,
    resources,
    scheduler,
    workarounds,
)
from compute.config.credentials import NO_SUCH_NAME

PROJECT = "berth"
PROGRAM = "berth-compute"
#: names a directory that is searched before the usual ones; the placement service reads it, too
VARIABLE = "OS_PLACEMENT_CONFIG_DIR"

FILES = (
    identity,
    resources,
    compute,
    workarounds,
    devices,
    libvirt,
    image_cache,
    ironic,
    pci,
    placement_database,
    scheduler,
    filter_scheduler,
    berth,
)

Overrides = Mapping[tuple[str | None, str], Any]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return all option groups, as the `oslo.config.opts` entry point wants them.

    Group [placement] has more options than these; they depend on the plugin `auth_type`.
    """
    options: dict[str, list[cfg.Opt]] = {}
    for file in FILES:
        options.setdefault(file.GROUP or "DEFAULT", []).extend(file.OPTIONS)
    options[placement.GROUP] = list(placement.OPTIONS)
    return list(options.items())


def register(conf: cfg.ConfigOpts) -> None:
    """Register on `conf` the options that it lacks; doing it twice does no harm.

    One configuration may serve the placement service, too. An option that is registered under the
    same name stays as it is, except that `state_path` gets this side's default: only this side
    keeps state there.
    """
    for file in FILES:
        for option in file.OPTIONS:
            with contextlib.suppress(cfg.DuplicateOptError):
                conf.register_opt(option, group=file.GROUP)
    conf.set_default("state_path", identity.STATE_PATH)
    placement.register_options(conf)
    # after a command line was parsed, oslo.config takes no more of logging's command line options
    with contextlib.suppress(cfg.ArgsAlreadyParsedError):
        oslo_log.register_options(conf)


def load(
    argv: Sequence[str] | None = None,
    files: Sequence[str] | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Overrides | None = None,
) -> cfg.ConfigOpts:
    """Read the configuration; environment wins over files, files over defaults.

    :param argv: command line arguments (`--config-file`, `--config-dir`, logging options)
    :param files: exactly these files; None: `berth-compute.conf` and `berth.conf`, each from the
        first of `~/.berth`, `~`, `/etc/berth` and `/etc` that has it. If one of them is in the
        directory that OS_PLACEMENT_CONFIG_DIR names, only that directory is searched
    :param environ: where to look for variables; None: the process's environment
    :param overrides: `{(group or None, option): value}`, stronger than all else

    Raises oslo_config's Error if a file is missing or unreadable, or if a value isn't valid.
    """
    conf = cfg.ConfigOpts()
    register(conf)
    if environ is not None:
        # oslo.config has no public way to hand it an environment other than the process's own.
        conf._env_driver = _GivenEnvironment(environ)
    folders: list[str] | None = []
    if files is None:
        files, folders = _named_sources(os.environ if environ is None else environ)
    try:
        conf(
            list(argv or ()),
            project=PROJECT,
            prog=PROGRAM,
            default_config_files=None if files is None else list(files),
            default_config_dirs=folders,
        )
    except cfg.ConfigFileParseError as error:
        raise _without_line(error) from None
    for (group, option), value in (overrides or {}).items():
        conf.set_override(option, value, group=group)
    devices.register_types(conf)
    _check_values(conf)
    return conf


def _without_line(error: cfg.ConfigFileParseError) -> cfg.ConfigFileParseError:
    """Return the error without the line that it quotes: that may be a password."""
    (where, *_) = re.split(r": (?=['\"])", error.msg or "", maxsplit=1)
    with open(error.config_file, "rb") as file:
        if file.read(3) == codecs.BOM_UTF8:
            where = "it begins with a byte order mark. Save it as UTF-8 without one"
    if "Section must be started" in where:
        # the parser counts a line too many
        where = "an option stands before the first group, which is a line such as [placement]"
    return cfg.ConfigFileParseError(error.config_file, where)


def _named_sources(environ: Mapping[str, str]) -> tuple[list[str] | None, list[str] | None]:
    """Return our files and directories where VARIABLE says; None: the usual places are searched.

    The service's own configuration may be the only one there.
    """
    folder = environ.get(VARIABLE)
    if not folder:
        return None, None
    paths = [os.path.join(folder, f"{name}.conf") for name in (PROJECT, PROGRAM)]
    files = [path for path in paths if os.path.isfile(path)]
    folders = [f"{path}.d" for path in paths if os.path.isdir(f"{path}.d")]
    return (files, folders) if files or folders else (None, None)


def where_searched(conf: cfg.ConfigOpts) -> str:
    """Return a sentence for messages if no configuration file was found, else an empty text."""
    if conf.config_file or conf.config_dir:
        return ""
    named = os.environ.get(VARIABLE)
    first = f"{named}, " if named else ""
    return (
        f" No configuration file was found: neither {PROGRAM}.conf nor {PROJECT}.conf is in "
        f"{first}~/.{PROJECT}, ~, /etc/{PROJECT} or /etc."
    )


def _check_values(conf: cfg.ConfigOpts) -> None:
    """Read each option once: oslo.config would only complain at the first use, hours later."""
    place = ""
    try:
        for name in conf:
            place = f"[DEFAULT]{name}"
            group_or_value = conf[name]
            if isinstance(group_or_value, cfg.ConfigOpts.GroupAttr):
                for option in group_or_value:
                    place = f"[{name}]{option}"
                    group_or_value[option]
    except NO_SUCH_NAME:
        raise cfg.Error(
            f"{place} has a $ that names no other option. Write $$ for a dollar sign."
        ) from None
    except cfg.ConfigSourceValueError as error:
        # oslo.config shows the place as the representation of an object.
        raise type(error)(
            re.sub(r"LocationInfo\(.*?detail='(.*?)'\)", r"\1", str(error))
        ) from error


class _GivenEnvironment(_environment.EnvironmentConfigurationSource):
    """oslo.config's environment source, reading a mapping instead of the process's environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__()
        self._environ = environ

    def get(
        self, group_name: str | None, option_name: str, opt: cfg.Opt
    ) -> tuple[object, cfg.LocationInfo | None]:
        name = self.get_name(group_name, option_name)
        if name not in self._environ:
            return (_environment.sources._NoValue, None)
        return (self._environ[name], cfg.LocationInfo(cfg.Locations.environment, name))
