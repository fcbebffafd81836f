"""The files of the page: a closed list, read from the package once (extensions.md 9)."""

import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

#: the file that the page begins with
INDEX = "index.html"
#: media types by the end of a name; files with another end aren't part of the page
MEDIA_TYPES = MappingProxyType(
    {
        "html": "text/html; charset=utf-8",
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml",
    }
)


@dataclasses.dataclass(frozen=True)
class PageFile:
    """A file of the page.

    :param tag: the text of its tag, which names the content
    """

    media_type: str
    content: bytes
    tag: str


@functools.cache
def page_files() -> Mapping[str, PageFile]:
    """Return the files by name, such as `drawings/tree.js`."""
    found = {}
    for name, file in sorted(_found(files(__package__) / "static", "")):
        media_type = MEDIA_TYPES.get(name.rpartition(".")[2])
        if media_type is not None:
            content = file.read_bytes()
            found[name] = PageFile(media_type, content, hashlib.sha256(content).hexdigest()[:32])
    return MappingProxyType(found)


def _found(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _found(entry, f"{path}{entry.name}/")
        else:
            yield f"{path}{entry.name}", entry
