"""Draw the trees of the tutorial as the terminal shows them: `tree_before.svg`, `tree_after.svg`.

The service of the tutorial is started, its commands are run, and nova-manage draws.
"""

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from tests import readme_commands
from tests.page_code import files_of

HERE = Path(__file__).parent
PAGE = "tutorial.rst"
#: name of the picture → the example of the page after which the tree is drawn, and a title
PICTURES = {
    "tree_before.svg": ("claim", "before the reshape"),
    "tree_after.svg": ("reshape", "after the reshape"),
}
COMMAND = "nova-manage placement tree --provider host1"
WIDTH = 92


def shown(url: str, folder: Path, colours: bool) -> str:
    """Return what the command prints about the tree of a service."""
    configuration = folder / "berth-compute.conf"
    configuration.write_text(
        f"[DEFAULT]\nstate_path = {folder}\n"
        f"[placement]\nauth_type = admin_token\nendpoint = {url}\ntoken = admin\n"
    )
    environ = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    environ |= {"COLUMNS": str(WIDTH), **({"FORCE_COLOR": "1"} if colours else {})}
    program = [sys.executable, "-m", "compute.cli.nova_manage", "--config-file", str(configuration)]
    done = subprocess.run(
        [*program, *COMMAND.split()[1:]], env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout


def trees(folder: Path, colours: bool) -> dict[str, str]:
    """Return what the command prints for each picture, while the tutorial's commands run."""
    examples = files_of(PAGE, "bash")
    found = {}
    with readme_commands.service_in(folder) as url:
        ran: list[str] = []
        for picture, (last, _) in PICTURES.items():
            names = list(examples)[: list(examples).index(last) + 1]
            # the definitions of `names` are needed in each shell, requests are sent once
            new = [examples[name] for name in names if name not in ran]
            settings = [examples["names"]] if "names" in ran else []
            readme_commands.run("\n".join([*settings, *new]), url)
            ran += names
            found[picture] = shown(url, folder, colours)
    return found


def as_picture(printed: str, title: str) -> str:
    """Return what was printed as SVG, without anything from another host."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(printed.rstrip()))
    text = console.export_svg(title=f"{COMMAND}: {title}", theme=DIMMED_MONOKAI, unique_id="tree")
    text = re.sub(r"@font-face \{[^}]*\}\s*|<!--.*?-->\s*", "", text)
    return text.replace("Fira Code", "DejaVu Sans Mono")


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        for picture, printed in trees(Path(folder), colours=True).items():
            (HERE / picture).write_text(as_picture(printed, PICTURES[picture][1]))


if __name__ == "__main__":
    main()
