"""Draw the programs and who asks whom, `programs.svg`, and the order of the code, `rooms.svg`.

Graphviz lays them out: `dot` and `tred` of Debian's package graphviz.
"""

import re
import subprocess
from pathlib import Path

from tests.architecture.rooms import MAY_IMPORT

HERE = Path(__file__).parent
#: what both pictures look like; readable on a white page and on a dark one
_STYLE = """
  graph [bgcolor="#ffffff", fontname="DejaVu Sans", fontsize=12, pad=0.2, nodesep=0.25]
  node [shape=box, style="rounded,filled", fillcolor="#eef3f8", color="#4a6785",
        fontname="DejaVu Sans", fontsize=11, margin="0.12,0.06"]
  edge [color="#5f6b76", arrowsize=0.7, fontname="DejaVu Sans", fontsize=10, fontcolor="#3d464d"]
"""
#: rooms of one module that most of the others import, without which the order is easier to see
EVERYWHERE = {"errors", "installation", "microversions"}
PROGRAMS = (
    "digraph programs {"
    + _STYLE
    + """
  rankdir=LR
  subgraph cluster_callers { label="who asks"; style=rounded; color="#b8c4cf"
    scheduler [label="nova-scheduler,\\nneutron, blazar …"]
    agent [label="berth-compute:\\ntracker, driver, report client"]
    commands [label="nova-manage placement …\\nopenstack …"]
    prometheus [label="Prometheus, probes"]
  }
  proxy [label="proxy: TLS, one URL\\n(nginx, HAProxy, Apache)", fillcolor="#f5f5f5"]
  subgraph cluster_host { label="placement-api, one or more hosts"; labelloc=b
    style=rounded; color="#b8c4cf"
    worker1 [label="worker:\\nsnapshot of the cloud"]
    worker2 [label="worker:\\nsnapshot of the cloud"]
  }
  database [label="SQLite, PostgreSQL,\\nMariaDB, Galera", shape=cylinder, fillcolor="#fdf3e1",
            color="#9a6b1f"]
  keystone [label="keystone", fillcolor="#f5f5f5"]
  scheduler -> proxy [label="candidates, claims"]
  agent -> proxy [label="trees, reshapes"]
  commands -> proxy [label="audits, explanations"]
  prometheus -> worker2 [label="/metrics, /healthcheck"]
  proxy -> worker1
  proxy -> worker2
  worker1 -> database [label="writes; change feed"]
  worker2 -> database
  worker1 -> keystone [label="is this token valid?"]
  commands -> database [label="PlacementDirect, offline", style=dashed]
}
"""
)


def arrows() -> set[tuple[str, str]]:
    """Return the arrows of `rooms.svg`: what a room imports that no other import brings along."""
    found = {
        (room, other.partition(".")[0])
        for room, others in MAY_IMPORT["placement"].items()
        # without the rooms within rooms
        if "." not in room
        for other in others
    }
    kept = {(a, b) for a, b in found if a != b and not {a, b} & EVERYWHERE}
    lines = "\n".join(f'"{a}" -> "{b}"' for a, b in sorted(kept))
    reduced = _graphviz("tred", f"digraph rooms {{\n{lines}\n}}\n")
    return set(re.findall(r'"?(\w+)"? -> "?(\w+)"?', reduced))


def _graphviz(program: str, text: str) -> str:
    command = [program, "-Tsvg"] if program == "dot" else [program]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


def _picture(text: str) -> str:
    """Return a drawing as SVG, without the program's version and the sizes in points."""
    return re.sub(r"<!--.*?-->\n?|<!DOCTYPE.*?>\n", "", _graphviz("dot", text), flags=re.S)


def main() -> None:
    """Write the pictures."""
    lines = "\n".join(f'  "{a}" -> "{b}"' for a, b in sorted(arrows()))
    rooms = f"digraph rooms {{{_STYLE}  ranksep=0.35\n{lines}\n}}\n"
    (HERE / "rooms.svg").write_text(_picture(rooms))
    (HERE / "programs.svg").write_text(_picture(PROGRAMS))


if __name__ == "__main__":
    main()
