"""The names that our commands had before, which osc-placement-tree has, too.

Both are in one group of entry points. Whoever installs both would get either by chance. So the old
names are the other's commands where that is installed, whichever entry point is read.
"""

from importlib.metadata import entry_points

GROUP = "openstack.placement.v1"
OURS = "openstack-berth"


def of_other_plugin(name: str) -> object:
    """Return the command with this name that another distribution has, None if there is none."""
    for entry in entry_points(group=GROUP, name=name):
        if entry.dist is not None and entry.dist.name != OURS:
            return entry.load()
    return None
