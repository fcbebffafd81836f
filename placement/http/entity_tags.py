"""ETag and If-None-Match (RFC 9110, 8.8.3 and 13.1.2)."""

import itertools
import re

#: the text of one tag, without the `W/` of a weak tag: If-None-Match doesn't distinguish these
_TAG = re.compile('"([\x21\x23-\x7e\x80-\xff]*)"')
#: how many tags of a header count: a client has a few answers at most
_MOST = 16
#: matches any answer
ANY = "*"


def quoted(text: str) -> str:
    """Return the value of ETag for a tag."""
    return f'"{text}"'


def is_named(tag: str, header: str | None) -> bool:
    """Return whether If-None-Match names the tag with this text, or any tag."""
    return not {ANY, tag}.isdisjoint(named(header))


def named(header: str | None) -> list[str]:
    """Return the texts of the tags in If-None-Match; [ANY] for `*`.

    What is no tag is ignored: the client then gets a full answer.
    """
    if header is None:
        return []
    if header.strip() == ANY:
        return [ANY]
    return [found[1] for found in itertools.islice(_TAG.finditer(header), _MOST)]
