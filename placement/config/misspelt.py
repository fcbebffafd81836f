"""Options of files and of the environment that nobody reads, because their names are misspelt.

oslo.config ignores what it doesn't know. Files of operators have options of other programs, too:
agent and service may share one. So only a name that nearly is one of ours counts as a mistake.
"""

import contextlib
import difflib
import itertools
import os
import pathlib
from collections.abc import Iterator, Mapping

from oslo_config import cfg

from placement.config import keystone_authtoken

OURS = "berth"
#: how alike two names are of which one may be the other misspelt; 1: they are equal
_ALIKE = 0.87

Names = Mapping[str, frozenset[str]]


def told(conf: cfg.ConfigOpts, environ: bool = True) -> list[str]:
    """Return a sentence about each option of the files and the environment that is nobody's.

    :param conf: the files were read, and all options but keystonemiddleware's are registered
    :param environ: whether the environment was read, too
    """
    of_files = _sentences(conf, _known(conf))
    of_environment = _of_environment(_known(conf, with_old=False)) if environ else ()
    return list(dict.fromkeys([*of_files, *of_environment]))


def _of_environment(known: Names) -> Iterator[str]:
    """Yield a sentence about each `OS_<GROUP>__<OPTION>` whose option isn't the group's.

    So is one with a single underscore between both, if there are this group and this option. But
    OpenStack's clients read OS_PLACEMENT_REGION_NAME and their like.
    """
    for variable in sorted(name for name in os.environ if name.startswith("OS_")):
        group, _, option = variable.removeprefix("OS_").lower().partition("__")
        group = "DEFAULT" if group == "default" else group
        if group in known and option not in known[group]:
            meant = _nearest(option, known[group])
        elif option:
            continue
        else:
            fits = (
                (each, group.removeprefix(f"{each}_".lower()))
                for each in known
                if group.startswith(f"{each}_".lower())
            )
            found = (pair for pair in fits if pair[1] in known[pair[0]] - _of_clients())
            group, meant = next(found, (group, None))
        if meant:
            right = f"OS_{group}__{meant}".upper()
            yield f"{variable}: nobody reads this variable. Do you mean {right}?"


def _of_clients() -> set[str]:
    # what has no such variable and no keystone starts without it
    from keystoneauth1 import loading

    return {option.dest for option in loading.get_adapter_conf_options()}


def _sentences(conf: cfg.ConfigOpts, known: Names) -> Iterator[str]:
    for file, group, name in _written(conf):
        if group not in known:
            if meant := _nearest(group, known):
                yield f"{file}: nobody reads group [{group}]. Do you mean [{meant}]?"
        elif name.replace("-", "_") not in known[group]:
            meant = _nearest(name, known[group])
            if meant is None and name in known.get(OURS, ()):
                meant = f"[{OURS}]{name}"
            if meant:
                yield f"{file}: nobody reads [{group}]{name}. Do you mean {meant}?"


def _nearest(name: str, names: Mapping[str, object] | frozenset[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, sorted(names), 1, _ALIKE)), None)


def _written(conf: cfg.ConfigOpts) -> Iterator[tuple[str, str, str]]:
    """Yield file, group and name of each option of the files."""
    folders = map(pathlib.Path, conf.config_dir or ())
    parts = (sorted(folder.glob("*.conf")) for folder in folders)
    for file in [*(conf.config_file or ()), *itertools.chain.from_iterable(parts)]:
        sections: dict[str, dict[str, list[str]]] = {}
        # a file that is gone meanwhile, or wrong, is told of by who reads the options
        with contextlib.suppress(OSError, ValueError, cfg.Error):
            cfg.ConfigParser(str(file), sections).parse()
        for group, options in sections.items():
            yield from ((str(file), group, name) for name in options)


def _known(conf: cfg.ConfigOpts, with_old: bool = True) -> Names:
    """Return group → names of the registered options.

    :param with_old: those before a renaming, too; variables with them aren't read
    """
    # oslo.config has no public way to ask for the old names
    registered = {"DEFAULT": conf._opts} | {n: g._opts for n, g in conf._groups.items()}
    known: dict[str, set[str]] = {group: set() for group in registered}
    for group, options in registered.items():
        for each in options.values():
            _add(known, group, each["opt"], with_old)
        if "auth_type" in options and group != "DEFAULT":
            for option in _of_plugin(conf, group):
                _add(known, group, option, with_old)
    if "auth_strategy" in registered.get("api", ()) and conf.api.auth_strategy == "keystone":
        # keystonemiddleware registers them, later. Older files have auth_uri, which isn't auth_url
        for group, found in keystone_authtoken.list_opts():
            known.setdefault(group, {"auth_uri"})
            for option in found:
                _add(known, group, option, with_old)
    return {group: frozenset(names) for group, names in known.items()}


def _add(known: dict[str, set[str]], group: str, option: cfg.Opt, with_old: bool) -> None:
    known[group].add(option.dest)
    for old in option.deprecated_opts if with_old else ():
        name = (old.name or option.dest).replace("-", "_")
        known.setdefault(old.group or group, set()).add(name)


def _of_plugin(conf: cfg.ConfigOpts, group: str) -> list[cfg.Opt]:
    """Return the options of the way to authenticate that a group chooses."""
    if not conf[group].auth_type:
        return []
    from keystoneauth1 import exceptions, loading

    try:
        return list(loading.get_auth_plugin_conf_options(conf[group].auth_type))
    except exceptions.NoMatchingPlugin:
        return []
