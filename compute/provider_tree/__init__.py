"""Resource providers in memory: ProviderTree, with nova's methods (compute.md §2)."""

from compute.provider_tree.node import ProviderData, Resource
from compute.provider_tree.tree import ProviderSubTree, ProviderTree

__all__ = ["ProviderData", "ProviderSubTree", "ProviderTree", "Resource"]
