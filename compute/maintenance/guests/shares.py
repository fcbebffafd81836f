"""What an instance should have of its node, as its records and its flavor say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from compute import exceptions
from compute.consumers import held_shares
from compute.consumers.held_shares import InstanceHolding, Share, Side
from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree.allocation_records import ProviderAmounts
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.requests.as_held import as_held
from compute.requests.guest_request import amounts_of
from compute.requests.translation import healed_request
from compute.shares.giver import Giver
from compute.shares.placing import UNSUFFIXED


def node_uuid(cell: CellDatabase, instance: Instance) -> str:
    """Return the uuid of the instance's node. Raises ComputeHostNotFound if it has no record."""
    node = cell.compute_nodes.by_host_and_node(instance.host or "", instance.node or "")
    if node is None:
        raise exceptions.ComputeHostNotFound(host=instance.host)
    return node.uuid


def holding_of(cell: CellDatabase, instance: Instance) -> InstanceHolding:
    """Return what the instance, or a migration of it, holds of its node, as the records say."""
    migrations = cell.migrations.of_instances({instance.uuid})
    migration = held_shares.relevant(instance, migrations)
    return held_shares.holding(instance, migration, instance.host or "", instance.node or "")


def own_share(held: InstanceHolding) -> Share | None:
    """Return what the instance itself holds of its node; None if that is nothing.

    While a move isn't confirmed, what it had before it moved is its migration's.
    """
    own = [share for share in held.shares if share.side is not Side.OLD]
    return next(iter(own or held.shares), None)


def givers(tree: Sequence[ProviderDetails], consumer: str, shares: bool = False) -> list[Giver]:
    """Return providers as givers, with what others than the consumer hold.

    :param shares: whether they share with the node, and aren't in its tree
    """
    return [
        Giver(
            one.uuid,
            one.name,
            None if shares else one.parent_uuid,
            one.inventories,
            frozenset(one.traits),
            dict(Counter(one.used) - Counter(one.holders.get(consumer, {}))),
            shares,
        )
        for one in tree
    ]


def requested(
    instance: Instance, tree: Sequence[ProviderDetails], has: ProviderAmounts
) -> ResourceRequest:
    """Return what the instance's flavor asks for of a node with this tree.

    Processors that its policy dedicates are PCPU where the node has such. Values that nova ignores
    are ignored.

    :param has: what the instance has in placement
    """
    pinned = any("PCPU" in one.inventories for one in tree)
    request = healed_request(instance.flavor, instance.booted_from_volume, pinned)
    here = {one.uuid: has[one.uuid] for one in tree if one.uuid in has}
    return as_held(request, instance.flavor, here)


def with_devices(request: ResourceRequest, devices: ProviderAmounts) -> ResourceRequest:
    """Return the request with the devices that the instance has of classes that it doesn't name.

    nova's flavors ask for devices by an alias; others ask for the class itself.
    """
    asked = amounts_of(request)
    more = Counter[str]()
    for amounts in devices.values():
        more.update({name: n for name, n in amounts.items() if name not in asked})
    main = request.groups.get(UNSUFFIXED, RequestGroup())
    main = replace(main, resources={**main.resources, **more})
    return replace(request, groups={**request.groups, UNSUFFIXED: main})
