"""The resource tracker: keeps placement and the compute node records true to what drivers say."""

from compute.resource_tracker.tracker import ResourceTracker

__all__ = ["ResourceTracker"]
