"""JSON schemas in the form that generators of clients digest, with the same meaning.

Schemas that several bodies share become components; a map with a pattern for its keys becomes
`additionalProperties` with `propertyNames`.
"""

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType

import placement.schemas
from placement.schemas.json_schema import Json

#: where references point to
SCHEMAS, ANSWERS = "#/components/schemas/", "#/components/responses/"


class Forms:
    """Converts schemas, and collects the components that they refer to.

    :param names: components by the id of the schema that several bodies share
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names
        self.components: dict[str, Json] = {}
        self.answers: dict[str, Json] = {}

    def answer(self, name: str, make: Callable[[], Json]) -> Json:
        """Return a reference to an answer that many endpoints give; make it for the first one."""
        if name not in self.answers:
            self.answers[name] = make()
        return {"$ref": ANSWERS + name}

    def of(self, schema: object) -> object:
        """Return a schema, or a list of them, converted; a reference if other bodies share it."""
        if isinstance(schema, list):
            return [self.of(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        name = self._names.get(id(schema))
        return self._converted(schema) if name is None else self.component(name, schema)

    def component(self, name: str, schema: Json) -> Json:
        """Return a reference to the schema, which becomes the component with this name."""
        if name not in self.components:
            # the name is taken before those of its parts, so that components are in the order of
            # their first use
            self.components[name] = {}
            self.components[name] = self._converted(self._with_named_choices(name, schema))
        return {"$ref": SCHEMAS + name}

    def _with_named_choices(self, name: str, schema: Json) -> Json:
        """Return the schema with references to the objects that it may be.

        Generators of clients make a class of each, and need names for them.
        """
        choices = schema.get("anyOf", ())
        if not any(each.get("type") == "object" for each in choices):
            return schema
        named = [self.component(f"{name}{number}", e) for number, e in enumerate(choices, 1)]
        return schema | {"anyOf": named}

    def _converted(self, schema: Json) -> Json:
        read = dict(schema)
        if set(read) == {"anyOf"} and {"type": "null"} in read["anyOf"] and len(read["anyOf"]) == 2:
            read = _or_null(next(each for each in read["anyOf"] if each != {"type": "null"}))
        if "oneOf" in read:
            read["anyOf"] = read.pop("oneOf")
        for keyword in ("properties", "patternProperties"):
            if keyword in read:
                read[keyword] = {name: self.of(value) for name, value in read[keyword].items()}
        for keyword in ("items", "anyOf", "prefixItems", "additionalProperties"):
            if keyword in read:
                read[keyword] = self.of(read[keyword])
        patterns = read.get("patternProperties", {})
        if len(patterns) == 1 and read.get("additionalProperties") is False:
            return _as_map(read)
        if "prefixItems" in read:
            # many readers of OpenAPI know no `prefixItems`; the number of items says the rest
            choices = read.pop("prefixItems")
            read["items"] = choices[0] if len(choices) == 1 else {"anyOf": choices}
        return read


def _or_null(schema: Json) -> Json:
    """Return the schema of the same value, or null."""
    return schema | {"type": [schema["type"], "null"]}


def _as_map(schema: Json) -> Json:
    ((pattern, value),) = schema.pop("patternProperties").items()
    names: Json = {"pattern": pattern}
    if schema.get("properties"):
        names = {"anyOf": [names, {"enum": list(schema["properties"])}]}
    return schema | {"propertyNames": names, "additionalProperties": value}


def shared(added: Iterable[ModuleType]) -> Mapping[int, str]:
    """Return the names of objects that modules of schemas offer to each other, by their ids.

    :param added: the modules of schemas that aren't in `placement.schemas`
    """
    core = (each.name for each in pkgutil.iter_modules(placement.schemas.__path__))
    found: dict[str, Json] = {}
    for module in (*(import_module(f"placement.schemas.{name}") for name in core), *added):
        for name, value in vars(module).items():
            is_object = isinstance(value, Mapping) and value.get("type") == "object"
            if is_object and name.isupper() and not name.startswith("_"):
                found.setdefault(camel(name), value)
    return {id(schema): name for name, schema in found.items()}


def camel(name: str) -> str:
    """Return a name in the form of a component: `traits_list_all` → `TraitsListAll`."""
    parts = name.replace(".", "_").split("_")
    return "".join(part[:1].upper() + part[1:].lower() for part in parts)
