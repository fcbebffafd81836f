"""Links: how one answer leads to other requests (OpenAPI 3.1, 4.8.20).

They follow from the paths. What a POST to `/resource_classes` creates is at
`/resource_classes/{name}`; and the answer of a path leads to the paths below it.
"""

import re
from collections.abc import Iterator

from placement.schemas.json_schema import Json

_PLACE = re.compile("{([a-z_]+)}")
_LAST = re.compile("(.*)/{([a-z_]+)}")


def with_links(paths: Json, components: Json) -> None:
    """Add links to the successes of all operations that make or name something."""
    for path, methods in paths.items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                if status.startswith("2"):
                    found = dict(_links(path, method, status, operation, paths, components))
                    if found:
                        answer["links"] = found


def _links(
    path: str, method: str, status: str, operation: Json, paths: Json, components: Json
) -> Iterator[tuple[str, Json]]:
    own = {place: f"$request.path.{place}" for place in _PLACE.findall(path)}
    if method == "delete":
        # after it, the path doesn't exist any more
        return
    for other, methods in paths.items():
        values = None
        if own and (other == path or other.startswith(f"{path}/")):
            values = own
        made = _LAST.fullmatch(other)
        if method == "post" and made is not None and made[1] == path:
            named = _given(made[2], status, operation, components)
            values = None if named is None else own | {made[2]: named}
        if values is None or set(_PLACE.findall(other)) != set(values):
            continue
        for to, target in methods.items():
            if (other, to) != (path, method):
                yield target["operationId"], _link(target, values)


def _given(place: str, status: str, operation: Json, components: Json) -> str | None:
    """Return the expression for what a POST has named, or None if it names nothing."""
    answer = operation["responses"][status].get("content", {}).get("application/json")
    if answer is not None and place in _properties(answer["schema"], components):
        return f"$response.body#/{place}"
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None and place in _properties(body["schema"], components):
        return f"$request.body#/{place}"
    return None


def _properties(schema: Json, components: Json) -> Json:
    if "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    found: Json = schema.get("properties", {})
    return found


def _link(target: Json, values: dict[str, str]) -> Json:
    return {"operationId": target["operationId"], "parameters": dict(values)}
