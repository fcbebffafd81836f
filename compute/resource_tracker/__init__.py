"""The resource tracker: keeps placement and the compute node records true to what drivers say.

Read `tracker` first: its methods delegate to the parts, one room each. `node` has what is known of
a node. `reporting` brings its providers in placement up to date, with what `provider_yaml` adds.
`claims` gives instances their shares of a node, `allocations` writes and audits what they hold.
"""

from compute.resource_tracker.tracker import ResourceTracker

__all__ = ["ResourceTracker"]
