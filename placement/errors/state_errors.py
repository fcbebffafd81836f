"""Errors of requests that contradict what is stored; other data could make the request right.

::

    BadRequest                      400
    ├── ObjectRefused               a provider with an invalid parent
    │   └── CreationRefused         a new one, with an invalid name or parent
    ├── UnknownTraits
    ├── InventoryMissing            an update of an inventory that doesn't exist
    ├── ProviderOutsideTree
    └── UnknownProviderNamed        a body names a provider that doesn't exist
        └── NamedProviderUnknown
    NotFound                        404
    ├── ProviderNotFound
    ├── ResourceClassNotFound
    ├── TraitNotFound
    └── InventoryNotFound
    PlacementError
    ├── Conflict                    409
    │   ├── ConcurrentUpdate
    │   │   ├── GenerationConflict  the caller's generation is not the stored one
    │   │   ├── LostRace            other writers changed the data on every attempt
    │   │   └── InventoryExists
    │   ├── NoCandidate             a claim for which nothing fits
    │   ├── DuplicateName
    │   ├── InventoryInUse
    │   ├── ProviderInUse
    │   ├── ProviderHasChildren
    │   ├── ResourceClassExists
    │   ├── ResourceClassInUse
    │   ├── TraitInUse
    │   └── AllocationRefused
    │       ├── InvalidInventory    the provider has no such inventory
    │       ├── ConstraintViolated  min_unit, max_unit, step_size
    │       └── CapacityExceeded
    └── PositionGone                410, changes after the position can't all be named
"""

from placement.errors.placement_error import PlacementError
from placement.errors.request_errors import BadRequest, NotFound


class ObjectRefused(BadRequest):
    text = "Object action {action} failed because: {reason}"


class CreationRefused(ObjectRefused):
    text = "Object action create failed because: {reason}"


class UnknownTraits(BadRequest):
    text = "No such trait {names}"


class InventoryMissing(BadRequest):
    text = "No inventory of class {resource_class} found."


class ProviderOutsideTree(BadRequest):
    """A change of a tree names a provider that doesn't belong to the tree afterwards."""

    text = (
        "Resource provider {uuid} would be in the tree with the root {other}, not in the tree "
        "with the root {root}."
    )


class UnknownProviderNamed(BadRequest):
    text = "Allocation for resource provider '{uuid}' that does not exist."


class NamedProviderUnknown(UnknownProviderNamed):
    """The body changes a provider that doesn't exist."""

    code = "placement.resource_provider.not_found"
    text = (
        "Resource provider {uuid} in {place} not found: No resource provider with uuid {uuid} found"
    )


class ProviderNotFound(NotFound):
    text = "No resource provider with uuid {uuid} found"
    vary = False


class ResourceClassNotFound(NotFound):
    text = "No such resource class {name}."
    vary = False


class TraitNotFound(NotFound):
    text = "No such trait(s): {name}."


class InventoryNotFound(NotFound):
    text = "No inventory of class {resource_class} for {uuid}"


class Conflict(PlacementError):
    status, title = 409, "Conflict"


class ConcurrentUpdate(Conflict):
    """Something isn't as the request says, because of another writer: read it, and try again."""

    code = "placement.concurrent_update"
    text = "Another thread concurrently updated the data. Please retry your update"


class GenerationConflict(ConcurrentUpdate):
    text = "resource provider generation conflict"


class LostRace(ConcurrentUpdate):
    text = (
        "Another thread concurrently updated the resource provider data. Please retry your update"
    )


class InventoryExists(ConcurrentUpdate):
    text = "Inventory of class {resource_class} for resource provider {uuid} already exists"


class NoCandidate(Conflict):
    """The cloud has no candidates for all consumers of a claim."""

    code = "berth.no_candidate"


class DuplicateName(Conflict):
    """Another resource provider has the name, or the uuid."""

    code = "placement.duplicate_name"


class InventoryInUse(Conflict):
    """Consumers hold resources of an inventory that would be gone."""

    code = "placement.inventory.inuse"
    text = "Inventory for '{resource_classes}' on resource provider '{uuid}' in use."


class ProviderInUse(Conflict):
    """Consumers hold resources of the provider."""

    code = "placement.resource_provider.inuse"
    text = "Unable to delete resource provider {uuid}: Resource provider has allocations."


class ProviderHasChildren(Conflict):
    """The provider has children."""

    code = "placement.resource_provider.cannot_delete_parent"
    text = "Unable to delete parent resource provider {uuid}: It has child resource providers."


class ResourceClassExists(Conflict):
    text = "Resource class already exists: {name}"


class ResourceClassInUse(Conflict):
    text = "Cannot delete resource class {name}. Class is in use in inventory."


class TraitInUse(Conflict):
    text = "The trait {name} is in use by a resource provider."


class AllocationRefused(Conflict):
    """The inventories can't satisfy the requested allocation."""

    @property
    def providers(self) -> frozenset[str]:
        """The uuids of the providers that can't."""
        named = self.facts.get("uuids") or self.facts.get("uuid", "")
        return frozenset(filter(None, named.split(", ")))


class InvalidInventory(AllocationRefused):
    text = "Inventory for '{resource_classes}' on resource provider '{uuids}' invalid."


class ConstraintViolated(AllocationRefused):
    text = (
        "Unable to create allocation for '{resource_class}' on resource provider '{uuid}'. "
        "The requested amount would violate inventory constraints."
    )


class CapacityExceeded(AllocationRefused):
    text = (
        "Unable to create allocation for '{resource_class}' on resource provider '{uuid}'. "
        "The requested amount would exceed the capacity."
    )


class PositionGone(PlacementError):
    """The change feed can't name all changes after the client's position."""

    status, title = 410, "Gone"
    code = "berth.position_gone"
