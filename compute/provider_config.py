"""The operator's provider configuration files: inventory and traits of one's own (§4.8)."""

import glob
import logging
import os
import re
from collections.abc import Iterable
from typing import Any

import jsonschema
import yaml

from compute.exceptions import ProviderConfigException

LOG = logging.getLogger(__name__)

#: the entry for all nodes of this service that have none of their own
COMPUTE_NODE = "$COMPUTE_NODE"
SOURCE_FILE = "__source_file"

_NEWEST_MINOR = 0
_VERSION = r"^1\.(0|[1-9][0-9]*)\Z"
_NAME = r"^[A-Z0-9_]{1,255}\Z"
_UUID = r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}\Z"

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
                                                "total": {"type": "integer"},
                                                "reserved": {"type": "integer"},
                                                "min_unit": {"type": "integer"},
                                                "max_unit": {"type": "integer"},
                                                "step_size": {"type": "integer"},
                                                "allocation_ratio": {"type": "number"},
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
_VALIDATOR = jsonschema.Draft7Validator(SCHEMA)

Provider = dict[str, Any]


def get_provider_configs(directory: str) -> dict[str, Provider]:
    """Return provider id (uuid, name or `$COMPUTE_NODE`) → its entry, from all `*.yaml` files.

    `__source_file` in an entry is the name of the file it is from. Raises ProviderConfigException.
    """
    paths = sorted(glob.glob(os.path.join(glob.escape(directory), "*.yaml")))
    if not paths:
        LOG.info("No provider configs found in %s.", directory)
    configs: dict[str, Provider] = {}
    for path in paths:
        for provider in _providers_in(path):
            _add(configs, provider)
    return configs


def additional_traits(provider: Provider) -> list[str]:
    """Return the traits of an entry."""
    return (provider.get("traits") or {}).get("additional") or []


def additional_inventories(provider: Provider) -> dict[str, dict[str, Any]]:
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
    problem = jsonschema.exceptions.best_match(_VALIDATOR.iter_errors(document))
    if problem is not None:
        where = "".join(f"[{part!r}]" for part in problem.absolute_path) or "the document"
        raise ProviderConfigException(
            error=f"Failed schema validation of {path}: {where}: {problem.message}"
        )
    for provider in document.get("providers", []):
        if not additional_traits(provider) and not additional_inventories(provider):
            LOG.info("Provider %s in %s adds nothing.", provider["identification"], path)
            continue
        _check_custom(provider, path)
        yield {**provider, SOURCE_FILE: os.path.basename(path)}


def _read(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return yaml.safe_load(file)
    except (OSError, UnicodeDecodeError) as error:
        raise ProviderConfigException(error=f"Unable to read {path}: {error}") from error
    except yaml.YAMLError as error:
        # Its text tells line and column.
        raise ProviderConfigException(error=f"Unable to parse {path}: {error}") from error


def _check_version(document: Any, path: str) -> None:
    try:
        version = document["meta"]["schema_version"]
        major, minor = (int(part) for part in re.fullmatch(r"(\d+)\.(\d+)", version).groups())  # type: ignore[union-attr]
    except (KeyError, TypeError, AttributeError) as error:
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
