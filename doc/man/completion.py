"""Write the completion of our commands for bash, from what `--help` of each command prints.

python doc/man/completion.py       bring contrib/completion/berth up to date
"""

import importlib.util
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
FILE = HERE.parents[1] / "contrib/completion/berth"
_HEAD = """\
# Completion of Berth's commands for bash: options and subcommands; elsewhere, names of files.
# Copy it to /usr/share/bash-completion/completions/nova-manage, with links of the other commands'
# names, or source it. Written by `python doc/man/completion.py`.

declare -A _berth_words=(
"""
_TAIL = """\
)

_berth() {
    local path=${COMP_WORDS[0]##*/} word
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ ${_berth_words["$path $word"]+known} ]] && path+=" $word"
    done
    mapfile -t COMPREPLY < <(compgen -W "${_berth_words[$path]}" -- "${COMP_WORDS[COMP_CWORD]}")
}

"""


def written() -> str:
    """Return the text of the file."""
    manual = _manual()
    commands = sorted(manual.commands())
    words: dict[str, set[str]] = {}
    for command in commands:
        for told in manual.helps_of(command):
            path = told.command.split()
            for at in range(1, len(path)):
                words.setdefault(" ".join(path[:at]), set()).add(path[at])
            options = {name.split()[0] for term, _ in told.listed() for name in term.split(", ")}
            long = {name for name in options if name.startswith("--")}
            words.setdefault(told.command, set()).update(long, ["--help"])
    table = "".join(
        f'    ["{path}"]="{" ".join(sorted(found))}"\n' for path, found in sorted(words.items())
    )
    return f"{_HEAD}{table}{_TAIL}complete -o default -F _berth {' '.join(commands)}\n"


def _manual() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build", HERE / "build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    FILE.write_text(written())
