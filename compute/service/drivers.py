"""How a compute driver is found by its name, and made.

Nothing here imports a driver. `[DEFAULT]compute_driver` names one, and the name is looked up in the
entry points `virt.drivers`, below the package `virt`, and among all importable classes
(compute.md §6.3).
"""

import importlib
import inspect
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from typing import Any

from oslo_config import cfg
from stevedore.named import NamedExtensionManager

from compute.driver import ServiceDriver
from compute.service.driver_callbacks import VirtAPI

NAMESPACE = "virt.drivers"

#: beginning of the names of drivers for tests
_FAKE = "fake."
#: the usual base class of drivers, as messages call it
_BASE_CLASS = "virt.driver.ComputeDriver"


class DriverLoadError(Exception):
    """The compute driver named in the configuration can't be used; the text says why."""


def driver_class(name: str | None) -> type[ServiceDriver]:
    """Find the driver called `name`, as load_driver does, without making one.

    Raises DriverLoadError if there is no such driver.
    """
    if not name:
        raise DriverLoadError(
            "No compute driver is configured: set compute_driver to one of "
            f"{_listed(_offered(''))}."
        )
    found = _find_driver(name)
    if not _is_class_of_drivers(found):
        raise DriverLoadError(f"Compute driver {name!r} is not a subclass of {_BASE_CLASS}.")
    return found


def _is_class_of_drivers(found: object) -> bool:
    return isinstance(found, type) and isinstance(found, ServiceDriver)


def load_driver(virtapi: VirtAPI, name: str | None, conf: cfg.ConfigOpts) -> ServiceDriver:
    """Find the driver called `name` and make one.

    `name` is an entry point of group `virt.drivers` (`host`), a class below the package `virt`
    (`fake.SmallFakeDriver`), or any importable class (`vendor.driver.TheirDriver`), tried in this
    order (compute.md §6.3). Raises DriverLoadError if there is none, or if it can't be made.
    """
    found = driver_class(name)
    try:
        return _made(found, virtapi, conf)
    except Exception as error:
        raise DriverLoadError(f"Compute driver {name!r} can't be started: {error}") from error


def _made(found: Any, virtapi: VirtAPI, conf: cfg.ConfigOpts) -> ServiceDriver:
    """Make a driver with `conf` in its attribute of that name before its `__init__` begins.

    So a driver can have nova's signature, `Driver(virtapi)`, and its `__init__` can read
    `self.conf` all the same.
    """
    arguments = (virtapi, conf) if _takes_configuration(found) else (virtapi,)
    driver = found.__new__(found, *arguments)
    driver.conf = conf
    driver.__init__(*arguments)
    return driver


def _takes_configuration(found: Any) -> bool:
    """Say whether the configuration is to be the second argument of the class.

    It is if the second parameter of its `__init__` is called `conf` or has no default. Nova's
    drivers have others there, like `read_only=False`. An `__init__` with `*args` in that place
    passes its arguments on, so the next class in the order of inheritance decides.
    """
    for ancestor in found.__mro__:
        if "__init__" not in vars(ancestor):
            continue
        _self, *parameters = inspect.signature(ancestor.__init__).parameters.values()
        positional = [
            one
            for one in parameters
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
        if len(positional) >= 2:
            second = positional[1]
            return second.name == "conf" or second.default is inspect.Parameter.empty
        if not any(one.kind is one.VAR_POSITIONAL for one in parameters):
            return False
    return False


def available_drivers() -> list[str]:
    """Return the names installed in the entry point group `virt.drivers`, sorted."""
    return sorted(_entry_points(()).entry_points_names())


def _entry_points(names: Iterable[str]) -> NamedExtensionManager:
    """Look at the drivers' entry points, importing only those in `names`."""
    return NamedExtensionManager(
        NAMESPACE,
        names=list(names),
        on_load_failure_callback=_refuse_broken_entry_point,
        on_missing_entrypoints_callback=_tolerate_missing,
    )


def _tolerate_missing(_names: object) -> None:
    """Say nothing: the name may still be that of a class."""


def _refuse_broken_entry_point(
    _manager: object, entry_point: EntryPoint, error: BaseException
) -> None:
    raise DriverLoadError(
        f"Compute driver {entry_point.name!r} ({entry_point.value}) can't be imported: {error}"
    ) from error


def _find_driver(name: str) -> Any:
    extensions = _entry_points([name])
    if name in extensions:
        return extensions[name].plugin
    for path in (f"virt.{name}", name):
        found = _import_dotted(path)
        if found is not None:
            return found
    raise DriverLoadError(
        f"Unknown compute driver {name!r}: it is neither one of {_listed(_offered(name))}, nor a "
        "class that can be imported."
    )


def _offered(name: str) -> list[str]:
    """Return the drivers to propose instead of `name`: the fake ones only if it is one of them."""
    names = available_drivers()
    fakes = [one for one in names if one.startswith(_FAKE)]
    return [
        *(one for one in names if one not in fakes),
        *(fakes if name.startswith("fake") else []),
    ]


def _import_dotted(path: str) -> object:
    """Return what `path` names, or None if there is no such module or attribute.

    A module that is there but fails to import is an error of its own, not an unknown name.
    """
    module_path, _, attribute = path.rpartition(".")
    if not (module_path and attribute and all(part.isidentifier() for part in path.split("."))):
        return None
    try:
        module = importlib.import_module(module_path)
    except ModuleNotFoundError as error:
        if error.name and (module_path + ".").startswith(error.name + "."):
            return None
        raise DriverLoadError(f"Compute driver {path!r} can't be imported: {error}") from error
    except Exception as error:
        raise DriverLoadError(f"Compute driver {path!r} can't be imported: {error}") from error
    return getattr(module, attribute, None)


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "(none installed)"
