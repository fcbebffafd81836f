"""Makes one HTML file of a drawing, for a ticket, or a browser without a network.

It has the modules of the page that draw. Its Content-Security-Policy has their hashes, so nothing
else runs, and forbids to load anything. The data are JSON, which no browser runs.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping

from placement.extensions.page.files import page_files

#: what draws a file, each after what it imports
_MODULES = (
    "dom.js",
    "words.js",
    "drawings/provider.js",
    "drawings/bar.js",
    "drawings/listed.js",
    "drawings/table.js",
    "drawings/host.js",
    "drawings/tree.js",
    "drawings/moves.js",
    "drawings/reshape.js",
    "drawings/file.js",
)
_STYLES = ("drawings/colours.css", "drawings/drawings.css", "drawings/host.css")
_BEGIN = """\
drawFile(JSON.parse(document.getElementById("data").textContent), document.querySelector("main"));
"""
#: `import {…} from "…";`, also over several lines, and the word before what is exported
_IMPORT = re.compile(r'^import \{[^}]*\} from "[^"]*";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) )", re.MULTILINE)

_DOCUMENT = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main></main>
<noscript><p>This drawing needs JavaScript.</p></noscript>
<script type="application/json" id="data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def drawing_file(title: str, data: Mapping[str, object]) -> str:
    """Return the text of an HTML file that draws the data.

    :param title: of the window
    :param data: what `drawFile` of drawings/file.js takes
    """
    script = _script()
    style = _joined(_STYLES)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    # `</script>` in a provider's name would end the data
    text = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")
    return _DOCUMENT.format(
        policy=html.escape(policy),
        title=html.escape(title),
        style=style,
        data=text,
        script=script,
    )


def _script() -> str:
    """Return all modules as one, each after those that it imports."""
    return _EXPORT.sub("", _IMPORT.sub("", _joined(_MODULES))) + _BEGIN


def _joined(names: tuple[str, ...]) -> str:
    return "".join(page_files()[name].content.decode() for name in names)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
