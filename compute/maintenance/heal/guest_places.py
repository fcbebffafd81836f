"""On which providers an instance has its resources, as its driver and its records say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compute.consumers.held_shares import Share
from compute.maintenance.guests.shares import givers
from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Amounts
from compute.records.instance import Instance
from compute.shares.known import DRIVER, ToldShares, recorded


@dataclass
class DriverPlaces:
    """Asks the driver of this host, which is loaded when it is needed.

    :param host: this host
    :param load: loads the driver; what it raises becomes the reason why nothing is known
    """

    host: str
    load: Callable[[], object]
    _driver: object = None
    _reason: str | None = None

    def of(
        self, instance: Instance, tree: Sequence[ProviderDetails], resources: Amounts
    ) -> tuple[ToldShares, str]:
        """Return what the driver says, and the reason to show if that isn't enough."""
        if instance.host != self.host:
            return ToldShares(DRIVER), f"only the driver on host {instance.host} could know"
        if self._driver is None and self._reason is None:
            self._ask_for_driver()
        ask = getattr(self._driver, "places_of_guest", None)
        if ask is None:
            return ToldShares(DRIVER), self._reason or "its driver doesn't know"
        try:
            places = ask(provider_tree(tree), instance.node, instance.uuid, dict(resources))
        except Exception as error:
            # The hypervisor's library may raise anything.
            return ToldShares(DRIVER), f"its driver can't tell: {error}"
        return ToldShares(DRIVER, places), "its driver doesn't know"

    def _ask_for_driver(self) -> None:
        try:
            self._driver = self.load()
        except Exception as error:
            self._reason = str(error)


def provider_tree(providers: Sequence[ProviderDetails]) -> ProviderTree:
    """Return the providers as a driver knows them."""
    tree = ProviderTree()
    tree.populate_from_iterable(
        {
            "uuid": one.uuid,
            "name": one.name,
            "generation": one.generation,
            "parent_provider_uuid": one.parent_uuid,
        }
        for one in providers
    )
    for one in providers:
        inventories = {name: dict(record) for name, record in one.inventories.items()}
        tree.update_inventory(one.uuid, inventories)
        tree.update_traits(one.uuid, one.traits)
        tree.update_aggregates(one.uuid, one.aggregates)
    return tree


@dataclass
class Knowing:
    """Whoever may know on which providers an instance has its resources: driver and record.

    :param tree: the providers of the instance's node
    :param doubt: after a call of `told`, why the driver doesn't say more
    """

    driver: DriverPlaces
    share: Share | None
    instance: Instance
    tree: Sequence[ProviderDetails]
    doubt: str = ""

    def told(self, resources: Amounts) -> list[ToldShares]:
        """Return what they say of an instance with these resources: the driver first."""
        by_driver, self.doubt = self.driver.of(self.instance, self.tree, resources)
        own = givers(self.tree, self.instance.uuid)
        by_record = recorded(self.share, self.instance.node or "", own, resources)
        return [by_driver, by_record]
