"""The operator's provider configuration files: inventory and traits of one's own.

See compute.md §4.8.
"""

import difflib
import logging
import math
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema

from compute.config.yaml_file import parse_yaml, read_text
from compute.exceptions import ProviderConfigException
from compute.provider_tree.inventory_record import LARGEST, completed

LOG = logging.getLogger(__name__)

#: the entry for all nodes of this service that have none of their own
COMPUTE_NODE = "$COMPUTE_NODE"
SOURCE_FILE = "__source_file"

_NEWEST_MINOR = 0
_VERSION = r"^1\.(0|[1-9][0-9]*)\Z"
_NAME = r"^[A-Z0-9_]{1,255}\Z"
_UUID = r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}\Z"


def _amount(lowest: int) -> dict[str, object]:
    """Return the schema of an amount that placement takes: any other would fail each update."""
    return {"type": "integer", "minimum": lowest, "maximum": LARGEST}


_RATIO = {"type": "number", "minimum": 0, "maximum": 3.40282e38}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        SOURCE_FILE: {"not": {}},
        "meta": {
            "type": "object",
            "properties": {"schema_version": {"type": "string", "pattern": _VERSION}},
            "required": ["schema_version"],
        },
        "providers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "identification": {
                        "type": "object",
                        "properties": {
                            "uuid": {
                                "anyOf": [
                                    {"type": "string", "pattern": _UUID},
                                    {"type": "string", "const": COMPUTE_NODE},
                                ]
                            },
                            "name": {"type": "string", "minLength": 1, "maxLength": 200},
                        },
                        "minProperties": 1,
                        "maxProperties": 1,
                        "additionalProperties": False,
                    },
                    "inventories": {
                        "type": "object",
                        "properties": {
                            "additional": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "patternProperties": {
                                        _NAME: {
                                            "type": "object",
                                            "properties": {
                                                "total": _amount(1),
                                                "reserved": _amount(0),
                                                "min_unit": _amount(1),
                                                "max_unit": _amount(1),
                                                "step_size": _amount(1),
                                                "allocation_ratio": _RATIO,
                                            },
                                            "required": ["total"],
                                            "additionalProperties": False,
                                        }
                                    },
                                    "additionalProperties": False,
                                },
                            }
                        },
                    },
                    "traits": {
                        "type": "object",
                        "properties": {
                            "additional": {
                                "type": "array",
                                "items": {"type": "string", "pattern": _NAME},
                            }
                        },
                    },
                },
                "required": ["identification"],
            },
        },
    },
    "required": ["meta"],
}
#: how many errors are compared to find the one to show, and how many characters of it are shown
_JUDGED, _LONGEST = 100, 500
_VALIDATOR = jsonschema.Draft7Validator(SCHEMA)

Provider = dict[str, Any]


def get_provider_configs(directory: str) -> dict[str, Provider]:
    """Return provider id (uuid, name or `$COMPUTE_NODE`) → its entry, from all `*.yaml` files.

    `__source_file` in an entry is the name of its file. Raises ProviderConfigException if a file
    can't be used.
    """
    paths = _files_in(directory)
    if not paths:
        LOG.info("No provider configs found in %s.", directory)
    configs: dict[str, Provider] = {}
    for path in paths:
        for provider in _providers_in(path):
            _add(configs, provider)
    return configs


def _files_in(directory: str) -> list[str]:
    """Return the files, in order; none where there is no such directory.

    Raises ProviderConfigException if the directory can't be listed. If it were taken for empty, the
    next update would remove what its files had added.
    """
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ProviderConfigException(error=f"Unable to list {directory}: {error}") from error
    return [
        os.path.join(directory, name)
        for name in sorted(names)
        if name.endswith(".yaml") and not name.startswith(".")
    ]


def additional_traits(provider: Provider) -> list[str]:
    """Return the traits of an entry."""
    return (provider.get("traits") or {}).get("additional") or []


def additional_inventories(provider: Provider) -> dict[str, dict[str, object]]:
    """Return class → record of an entry."""
    records = (provider.get("inventories") or {}).get("additional") or []
    return {name: record for listed in records for name, record in listed.items()}


def _add(configs: dict[str, Provider], provider: Provider) -> None:
    (provider_id,) = provider["identification"].values()
    if provider_id in configs:
        files = sorted({configs[provider_id][SOURCE_FILE], provider[SOURCE_FILE]})
        raise ProviderConfigException(
            error=f"Provider {provider_id} has multiple definitions in source file(s): {files}."
        )
    configs[provider_id] = provider


def _providers_in(path: str) -> Iterable[Provider]:
    document = _read(path)
    _check_version(document, path)
    problems = islice(_VALIDATOR.iter_errors(document), _JUDGED)
    problem = jsonschema.exceptions.best_match(problems)
    if problem is not None:
        where = "".join(f"[{part!r}]" for part in problem.absolute_path) or "the document"
        raise ProviderConfigException(
            error=f"Failed schema validation of {path}: {where}: {problem.message[:_LONGEST]}"
        )
    if _minor(document) <= _NEWEST_MINOR:
        for where, key, near in _unknown(document, SCHEMA):
            question = f" Do you mean {near}?" if near else ""
            LOG.warning("%s: nobody reads %s%s.%s", path, where, key, question)
    for provider in document.get("providers", []):
        if not additional_traits(provider) and not additional_inventories(provider):
            LOG.info("Provider %s in %s adds nothing.", provider["identification"], path)
            continue
        _check_custom(provider, path)
        _check_amounts(provider, path)
        yield {**provider, SOURCE_FILE: os.path.basename(path)}


def _minor(document: dict[str, Any]) -> int:
    return int(document["meta"]["schema_version"].partition(".")[2])


def _unknown(
    value: object, schema: dict[str, Any], where: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Yield each key that the schema allows and doesn't know: where it is, and what it may mean."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unknown(item, schema["items"], f"{where[:-1]}[{number}].")
    elif isinstance(value, dict) and "properties" in schema:
        for key, inner in value.items():
            if key in schema["properties"]:
                yield from _unknown(inner, schema["properties"][key], f"{where}{key}.")
            else:
                near = difflib.get_close_matches(str(key), schema["properties"], 1)
                yield where, key, "".join(near)


def _read(path: str) -> Any:
    try:
        text = read_text(Path(path))
    except (OSError, ValueError) as error:
        raise ProviderConfigException(error=f"Unable to read {path}: {error}") from error
    try:
        return parse_yaml(text)
    except ValueError as error:
        raise ProviderConfigException(error=f"Unable to parse {path}: it {error}") from error


def _check_version(document: Any, path: str) -> None:
    try:
        version = document["meta"]["schema_version"]
        major, minor = (int(part) for part in re.fullmatch(r"(\d+)\.(\d+)", version).groups())  # type: ignore[union-attr]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ProviderConfigException(
            error=f"Unable to detect schema version of {path}: meta.schema_version must be a "
            "string like '1.0'"
        ) from error
    if major != 1:
        raise ProviderConfigException(
            error=f"Unsupported schema major version {major} in {path}: only 1 is known"
        )
    if minor > _NEWEST_MINOR:
        LOG.warning(
            "Provider config file %s has schema version %s; what came after 1.%s is ignored.",
            path,
            version,
            _NEWEST_MINOR,
        )


def _check_amounts(provider: Provider, path: str) -> None:
    for name, record in additional_inventories(provider).items():
        # Not a number compares with nothing, so the schema doesn't refuse it.
        if math.isnan(completed(record)["allocation_ratio"]):
            raise ProviderConfigException(
                error=f"The allocation_ratio of {name} in {path} is not a number"
            )
        if completed(record)["reserved"] > record["total"]:
            raise ProviderConfigException(
                error=f"More of {name} is reserved in {path} than its total"
            )


def _check_custom(provider: Provider, path: str) -> None:
    traits = [name for name in additional_traits(provider) if not name.startswith("CUSTOM_")]
    if traits:
        raise ProviderConfigException(
            error=f"Invalid traits, only custom traits are allowed: {sorted(traits)} in {path}"
        )
    classes = [n for n in additional_inventories(provider) if not n.startswith("CUSTOM_")]
    if classes:
        raise ProviderConfigException(
            error="Invalid resource class, only custom resource classes are allowed: "
            f"{', '.join(sorted(classes))} in {path}"
        )
