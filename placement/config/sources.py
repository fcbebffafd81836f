"""Where the configuration files are, and what is said when there is none (rest-api.md 7.1)."""

import argparse
import codecs
import contextlib
import os
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence

from oslo_config import cfg

from placement.config import misspelt
from placement.config.keystone_authtoken import NO_SUCH_NAME

PROJECT = "placement"
#: names the directory whose `placement.conf` and `placement.conf.d` are read instead of the usual
VARIABLE = "OS_PLACEMENT_CONFIG_DIR"


class NotConfigured(cfg.RequiredOptError):
    """An option is missing; the message says where it goes, and what is misspelt there.

    :param asked: the files that the caller named; None: the usual places were searched
    :param environ: whether the environment was read
    """

    def __init__(
        self,
        missing: cfg.RequiredOptError,
        conf: cfg.ConfigOpts,
        program: str,
        asked: Sequence[str] | None,
        environ: bool,
    ) -> None:
        super().__init__(missing.opt_name, missing.group)
        files = [*(conf.config_file or ()), *(conf.config_dir or ())]
        if files:
            where = f"write it into {' or '.join(files)}."
        elif asked is not None:
            where = "no configuration file was named."
        else:
            names = dict.fromkeys(f"{name}.conf" for name in (PROJECT, program))
            usual = " or ".join([*names, f"{PROJECT}.conf.d/*.conf"])
            where = f"no configuration file found in {searched()} ({usual})."
        # the line that should have set it may be there, with a name that nobody reads
        self._where = " ".join([where, *misspelt.told(conf, environ)])

    def __str__(self) -> str:
        return f"{super().__str__()}: {self._where}"


class UnknownReference(cfg.Error):
    """A value has a `$` before a name that no option has; it is not quoted, as it may be secret."""


class NotText(cfg.Error):
    """A configuration file is not UTF-8 text."""


class Unreadable(cfg.Error):
    """A configuration file is a folder, or the device fails."""


def read(
    conf: cfg.ConfigOpts,
    argv: Sequence[str],
    program: str,
    files: Sequence[str] | None = None,
    environ: bool = True,
    version: str | None = None,
) -> None:
    """Parse the command line and read the files into `conf`, whose options are registered.

    Raises cfg.Error; NotConfigured if an option is missing; UnknownReference; NotText;
    Unreadable.

    :param program: name of the program; a file `<program>.conf` beside `placement.conf` is read
    :param files: the files to read; None: the usual places, or those that VARIABLE names
    :param environ: whether `OS_<GROUP>__<OPTION>` variables are read
    :param version: what the option `--version` prints; None: there is no such option
    """
    asked = files
    folders: list[str] | None = []
    if files is None:
        files, folders = named_sources() if environ else (None, None)
    try:
        conf(
            list(argv),
            project=PROJECT,
            prog=program,
            version=version,
            default_config_files=None if files is None else list(files),
            default_config_dirs=folders,
            use_env=environ,
        )
    except cfg.RequiredOptError as missing:
        check_values(conf)
        raise NotConfigured(missing, conf, program, asked, environ) from missing
    except NO_SUCH_NAME:
        check_values(conf)
        raise
    except cfg.ConfigFileParseError as error:
        raise cfg.ConfigFileParseError(error.config_file, _mistake(error)) from None
    except UnicodeDecodeError as error:
        raise NotText(f"{_undecodable(argv, program, files)} is not UTF-8 text: {error}") from error
    except OSError as error:
        raise Unreadable(f"{error.filename} can't be read: {error.strerror}") from error


def check_values(conf: cfg.ConfigOpts) -> None:
    """Read the value of every registered option. Raises cfg.Error at one that is wrong.

    Otherwise a wrong value is noticed only when the option is used.
    """
    for name in conf:
        with _named("DEFAULT", name):
            group = conf[name]
        if isinstance(group, cfg.ConfigOpts.GroupAttr):
            for option in group:
                with _named(name, option):
                    group[option]


@contextlib.contextmanager
def _named(group: str, option: str) -> Iterator[None]:
    try:
        yield
    except NO_SUCH_NAME:
        raise UnknownReference(
            f"[{group}]{option} has a $ that names no other option. Write $$ for a dollar sign."
        ) from None


def _mistake(error: cfg.ConfigFileParseError) -> str:
    """Return what is wrong with a file, without its line: that may be a password."""
    (where, *_) = re.split(r": (?=['\"])", error.msg or "", maxsplit=1)
    with open(error.config_file, "rb") as file:
        if file.read(3) == codecs.BOM_UTF8:
            return "it begins with a byte order mark. Save it as UTF-8 without one"
    if "Section must be started" in where:
        # the parser counts a line too many
        return "an option stands before the first group, which is a line such as [api]"
    return where


def _undecodable(argv: Sequence[str], program: str, files: Sequence[str] | None) -> str:
    """Return the path of the first file that isn't UTF-8 text; the parser doesn't name it."""
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("--config-file", action="append", default=[])
    options.add_argument("--config-dir", action="append", default=[])
    given, _ = options.parse_known_args(list(argv))
    if files is None:
        files = cfg.find_config_files(project=PROJECT, prog=program)
    folders = given.config_dir or cfg.find_config_dirs(project=PROJECT, prog=program)
    parts = [path for folder in folders for path in sorted(pathlib.Path(folder).glob("*.conf"))]
    for path in (*map(pathlib.Path, given.config_file or files), *parts):
        try:
            path.read_text("utf-8")
        except UnicodeDecodeError:
            return str(path)
        except OSError:
            continue
    return "A configuration file"


def named_sources() -> tuple[list[str] | None, list[str] | None]:
    """Return the files and directories that VARIABLE names; None: the usual places are searched.

    The file must be there. The directory may be missing, and is read at a reload if it is there.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None, None
    file = os.path.join(folder, f"{PROJECT}.conf")
    return [file], [f"{file}.d"]


def searched(environ: Mapping[str, str] = os.environ) -> str:
    """Return the directories where configuration files are searched, as a list for a message."""
    folders = [f"~/.{PROJECT}", "~", f"/etc/{PROJECT}", "/etc"]
    folders += [
        os.path.join(environ[name], "etc", PROJECT)
        for name in ("SNAP_COMMON", "SNAP")
        if name in environ
    ]
    return f"{', '.join(folders[:-1])} and {folders[-1]}"


def is_any(program: str) -> bool:
    """Return whether there is a file or directory of configuration, named or in a usual place."""
    return bool(
        named_sources()[0]
        or cfg.find_config_files(project=PROJECT, prog=program)
        or cfg.find_config_dirs(project=PROJECT, prog=program)
    )
