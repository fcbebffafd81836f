"""Providers as JSON, written once as long as they are listed again without a change."""

import dataclasses
import functools
from collections.abc import Sequence

from placement.http.call import Call
from placement.http.json_text import quoted
from placement.storage.provider_list import Listed

#: the links of a provider, each with the minor version that added it
_LINKS = (("inventories", 0), ("usages", 0), ("aggregates", 1), ("traits", 6), ("allocations", 11))
#: providers whose JSON is kept, in all forms together: about 30 MB
REMEMBERED = 25_000
#: providers in one piece of a list: about 100 kB
_AT_ONCE = 128


@dataclasses.dataclass(frozen=True, eq=False)
class Form:
    """What a provider's JSON looks like at a version, below a path of the service.

    :param template: the JSON with placeholders for values
    :param hrefs: how often the uuid stands in the links
    :param nested: whether it names the tree
    """

    template: str
    hrefs: int
    nested: bool


def form_of(call: Call) -> Form:
    """Return the form that the call's version has."""
    rels = tuple(rel for rel, since in _LINKS if call.at_least(since))
    return _form(call.path("resource_providers"), rels, call.at_least(14))


@functools.lru_cache(maxsize=64)
def _form(prefix: str, rels: tuple[str, ...], nested: bool) -> Form:
    path = quoted(prefix)[1:-1].replace("%", "%%") + "/%s"
    links = [f'{{"rel": "self", "href": "{path}"}}']
    links += [f'{{"rel": "{rel}", "href": "{path}/{rel}"}}' for rel in rels]
    tree = ', "parent_provider_uuid": %s, "root_provider_uuid": %s' if nested else ""
    head = '{"uuid": %s, "name": %s, "generation": %s, "links": ['
    return Form(head + ", ".join(links) + "]" + tree + "}", len(links), nested)


def list_of(form: Form, providers: Sequence[Listed]) -> list[bytes]:
    """Return providers as a list in JSON, in pieces: long texts are dear to copy."""
    pieces = [b"["]
    for start in range(0, len(providers), _AT_ONCE):
        texts = [text_of(form, *provider) for provider in providers[start : start + _AT_ONCE]]
        if start + _AT_ONCE < len(providers):
            texts.append(b"")
        pieces.append(b", ".join(texts))
    return [*pieces, b"]"]


@functools.lru_cache(maxsize=REMEMBERED)
def text_of(
    form: Form, uuid: str, name: str, generation: int, parent_uuid: str | None, root_uuid: str
) -> bytes:
    """Return a provider as JSON. All that it says is in the arguments, so it never gets old."""
    values = [quoted(uuid), quoted(name), generation] + [uuid] * form.hrefs
    if form.nested:
        values += ["null" if parent_uuid is None else quoted(parent_uuid), quoted(root_uuid)]
    return (form.template % tuple(values)).encode()
