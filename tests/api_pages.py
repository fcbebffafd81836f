"""The pages of the API and what writes them (doc/api_pages.py)."""

import importlib.util
import re
import sys
import textwrap
from pathlib import Path

DOC = Path(__file__).parents[1] / "doc"
_SPEC = importlib.util.spec_from_file_location("api_pages", DOC / "api_pages.py")
assert _SPEC is not None
assert _SPEC.loader is not None
pages = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = pages
_SPEC.loader.exec_module(pages)

#: where the pages' service is
URL = "http://127.0.0.1:8778"
_BLOCK = re.compile(r"^\.\. code-block:: bash\n\n(?P<code>(?:(?: {4}.*)?\n)+)", re.M)


def preparation(start: str) -> str:
    """Return the block of the first page whose first line begins with `start`."""
    blocks = re.findall(r"::\n\n((?: {4}.*\n)+)", (DOC / "api.rst").read_text(encoding="utf-8"))
    (found,) = [block for block in map(textwrap.dedent, blocks) if block.startswith(start)]
    return found


def shown(start: str) -> dict[str, str]:
    """Return `METHOD path` → the command that its section shows, which begins with `start`."""
    found: dict[str, str] = {}
    for page in sorted((DOC / "api").glob("*.rst")):
        place = ""
        for part in re.split(r"^((?:GET|POST|PUT|DELETE) /.*)\n=+$", page.read_text(), flags=re.M):
            if re.fullmatch(r"[A-Z]+ /\S*", part):
                place = part
                continue
            for block in _BLOCK.finditer(part):
                code = textwrap.dedent(block["code"]).strip()
                if code.startswith(start):
                    found[place] = code
    return found
