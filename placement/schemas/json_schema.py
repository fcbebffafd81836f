"""A compiled JSON schema, the choice of one by microversion, and building blocks for schemas.

`jsonschema` decides what is wrong with a value and words the message, as in the reference. Berth
reports the same message faster: valid values are recognised by native code (`jsonschema_rs`), and
for invalid values only those errors are collected that jsonschema might choose to report.
"""

import functools
from collections.abc import Callable, Mapping
from typing import TypeVar

from placement.microversions import Version
from placement.schemas.native_checks import Json, quick_check

T = TypeVar("T")


class Schema:
    """A JSON schema that returns a message for an invalid value.

    :param source: the schema itself
    :param strict_uuids: whether uuids must have their dashes
    :param exact_ends: whether `$` in a pattern is the end, as JSON Schema has it. In the reference
        one newline may follow
    """

    def __init__(self, source: Json, strict_uuids: bool = False, exact_ends: bool = False) -> None:
        self.source = source
        self.strict_uuids = strict_uuids
        self.exact_ends = exact_ends

    @functools.cached_property
    def is_sure(self) -> Callable[[object], bool]:
        """Says whether native code knows that a value is valid; others may be valid, too."""
        return quick_check(self.source, self.strict_uuids, self.exact_ends)

    def why_not(self, value: object) -> str | None:
        """Return jsonschema's message if the value is invalid, else None."""
        if self.is_sure(value):
            return None
        # imported here because jsonschema is needed for values that are wrong only
        from placement.schemas import schema_messages

        return schema_messages.why_not(self.source, self.strict_uuids, value, self.exact_ends)


#: schemas by the first microversion of each
SchemaTable = Mapping[Version, Schema]


def pick(table: Mapping[Version, T], version: Version) -> T:
    """Return the table's entry for `version`: the entry of the newest key not above it."""
    return table[max(key for key in table if key <= version)]


UUID: Json = {"type": "string", "format": "uuid"}
INTEGER: Json = {"type": "integer"}
STRING: Json = {"type": "string"}
#: pattern for keys that are uuids of providers or consumers
UUID_KEY = "^[0-9a-fA-F-]{36}$"
RESOURCE_CLASS_KEY = "^[A-Z0-9_]+$"


def closed_object(properties: Json, required: list[str] | None = None) -> Json:
    """Return the schema of an object with these properties and no others.

    :param required: names of the properties that must be present
    """
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema | {"additionalProperties": False}
