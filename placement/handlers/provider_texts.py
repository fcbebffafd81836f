"""Providers as JSON (rest-api.md 3.1)."""

import dataclasses
import functools
from collections.abc import Sequence

from placement.http.call import Call
from placement.http.json_text import quoted
from placement.storage.provider_list import Listed

#: the links of a provider, each with the minor version that added it
_LINKS = (("inventories", 0), ("usages", 0), ("aggregates", 1), ("traits", 6), ("allocations", 11))
SEPARATOR = b", "
#: short texts in one piece of a list, and the length from which texts are pieces of their own
_AT_ONCE, _LONG = 128, 10_000


@dataclasses.dataclass(frozen=True)
class ProviderForm:
    """What a provider's JSON looks like at a version, below a path of the service.

    :param template: the JSON with placeholders for values
    :param hrefs: how often the uuid stands in the links
    :param nested: whether it names the tree
    """

    template: str
    hrefs: int
    nested: bool

    def text(self, provider: Listed) -> bytes:
        """Return a provider as JSON."""
        uuid, name, generation, parent_uuid, root_uuid = provider
        values = [quoted(uuid), quoted(name), generation] + [uuid] * self.hrefs
        if self.nested:
            values += ["null" if parent_uuid is None else quoted(parent_uuid), quoted(root_uuid)]
        return (self.template % tuple(values)).encode()


def form_of(call: Call) -> ProviderForm:
    """Return the form that the call's version has; all calls with this form get the same one."""
    rels = tuple(rel for rel, since in _LINKS if call.at_least(since))
    return _form(call.path("resource_providers"), rels, call.at_least(14))


@functools.lru_cache(maxsize=64)
def _form(prefix: str, rels: tuple[str, ...], nested: bool) -> ProviderForm:
    path = quoted(prefix)[1:-1].replace("%", "%%") + "/%s"
    links = [f'{{"rel": "self", "href": "{path}"}}']
    links += [f'{{"rel": "{rel}", "href": "{path}/{rel}"}}' for rel in rels]
    tree = ', "parent_provider_uuid": %s, "root_provider_uuid": %s' if nested else ""
    head = '{"uuid": %s, "name": %s, "generation": %s, "links": ['
    return ProviderForm(head + ", ".join(links) + "]" + tree + "}", len(links), nested)


def list_of(texts: Sequence[bytes]) -> list[bytes]:
    """Join texts by commas, in pieces: long texts are dear to copy, and many pieces to send."""
    if sum(map(len, texts)) > _LONG * len(texts):
        return [piece for text in texts for piece in (SEPARATOR, text)][1:]
    pieces: list[bytes] = []
    for start in range(0, len(texts), _AT_ONCE):
        part = [*texts[start : start + _AT_ONCE]]
        if start + _AT_ONCE < len(texts):
            part.append(b"")
        pieces.append(SEPARATOR.join(part))
    return pieces
