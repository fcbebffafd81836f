"""A terminal session as the manual shows it: `    $ command`, and below it what that printed."""

import re
import shlex

from compute.cli.nova_manage import main as nova_manage
from placement.cli.manage import main as placement_manage

PROGRAMS = {"nova-manage": nova_manage, "placement-manage": placement_manage}
INDENT = "    "
PROMPT = f"{INDENT}$ "
FILE = re.compile(r"^``([\w.-]+)``::$")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
JOURNAL = re.compile(r"removed-allocations-\d{8}T\d{6}Z-\d+")
AGO = re.compile(r"\d+ \w+ ago")
#: how a line of the log begins
LOGGED = re.compile(r"\d{4}-\d{2}-\d{2} [0-9:.]+ \d+ [A-Z]+ ")


def files(manual):
    """Name → content of the files that the manual shows, each below its name."""
    found, lines = {}, manual.splitlines()
    for number, line in enumerate(lines):
        if match := FILE.match(line):
            content = []
            for following in lines[number + 2 :]:
                if following and not following.startswith(INDENT):
                    break
                content.append(following.removeprefix(INDENT))
            found[match[1]] = "\n".join(content).rstrip() + "\n"
    return found


def steps(manual):
    """Return the commands and their documented output, in order."""
    found, shown = [], None
    for line in manual.splitlines():
        if line.startswith(PROMPT):
            shown = []
            found.append((line.removeprefix(PROMPT), shown))
        elif shown is not None and line and not line.startswith(INDENT):
            shown = None
        elif shown is not None:
            shown.append(line.removeprefix(INDENT).rstrip())
    return [(command, "\n".join(shown).strip()) for command, shown in found]


class Session:
    """Runs commands in the working directory; `capture` gives what was printed."""

    def __init__(self, capture):
        self._capture = capture
        self._code = 0

    def run(self, command):
        """Return what a command prints on both streams; `echo $?` prints the last exit code.

        Lines of the log are left out.
        """
        if command == "echo $?":
            return str(self._code)
        program, *arguments = shlex.split(command)
        self._capture()
        self._code = PROGRAMS[program](arguments)
        out, err = self._capture()
        lines = [line.rstrip() for line in (out + err).splitlines() if not LOGGED.match(line)]
        return "\n".join(lines).strip()


def without_chance(text, names):
    """Return the text without ages and times, uuids numbered by first use in `names`."""
    numbered = UUID.sub(lambda match: names.setdefault(match[0], f"uuid-{len(names)}"), text)
    return JOURNAL.sub("journal", AGO.sub("a while ago", numbered))
