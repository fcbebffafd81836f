"""What the operator's provider configuration files add to a node's providers (compute.md §4.8).

The classes that a file adds are taken out of the tree before the driver's edit, and put back
afterwards. So a class that is in the tree after the driver's edit is the driver's, and no file may
add it. The operator may change everything else that a file names, whoever stored it before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from compute.provider_config import (
    COMPUTE_NODE,
    SOURCE_FILE,
    Provider,
    additional_inventories,
    additional_traits,
)
from compute.provider_tree import ProviderSubTree
from compute.provider_tree.inventory_record import Inventory

LOG = logging.getLogger(__name__)

#: provider uuid → class → record, as placement has it
TakenOut = Mapping[str, Inventory]


@dataclass(frozen=True)
class ProviderAdditions:
    """Merges the entries of the files into trees, one tree after the other.

    :param configs: provider id → its entry, as `get_provider_configs` gives them
    :param on_absent: called with each id that the tree doesn't have
    :param on_present: called with each id that the tree has
    """

    configs: Mapping[str, Provider]
    on_absent: Callable[[str], None]
    on_present: Callable[[str], None]

    def take_out(self, tree: ProviderSubTree) -> TakenOut:
        """Remove the classes that entries add from the tree, and return their records."""
        taken: dict[str, Inventory] = {}
        for provider_id, config in self.configs.items():
            name = tree.scope_rp_uuid if provider_id == COMPUTE_NODE else provider_id
            given = additional_inventories(config)
            if not given or not tree.exists(name):
                continue
            data = tree.data(name)
            theirs = {c: record for c, record in data.inventory.items() if c in given}
            if theirs:
                taken.setdefault(data.uuid, {}).update(theirs)
                rest = {c: record for c, record in data.inventory.items() if c not in given}
                tree.update_inventory(data.uuid, rest)
        return taken

    def merge(self, tree: ProviderSubTree, taken: TakenOut) -> None:
        """Add what the entries say, after the driver's edit.

        A field that an entry leaves out stays as placement has it. A class that was taken out and
        isn't added after all is put back.

        Raises ValueError for a class that is the driver's, and for a provider that two entries
        name, one by its uuid and one by its name.
        """
        chosen = self._chosen(tree)
        for uuid, config in chosen.items():
            _add(config, tree, uuid, taken.get(uuid, {}))
        for uuid, records in taken.items():
            if uuid not in chosen and tree.exists(uuid):
                tree.update_inventory(uuid, {**records, **tree.data(uuid).inventory})

    def _chosen(self, tree: ProviderSubTree) -> dict[str, Provider]:
        """Return provider uuid → the one entry that is about that provider."""
        chosen: dict[str, Provider] = {}
        for provider_id, config in self.configs.items():
            if provider_id == COMPUTE_NODE:
                continue
            if not tree.exists(provider_id):
                self.on_absent(provider_id)
                continue
            self.on_present(provider_id)
            uuid = tree.data(provider_id).uuid
            if uuid in chosen:
                raise ValueError(
                    f"Provider {uuid} is named by its uuid and by its name in "
                    f"{chosen[uuid][SOURCE_FILE]} and {config[SOURCE_FILE]}"
                )
            chosen[uuid] = config
        if COMPUTE_NODE in self.configs:
            chosen.setdefault(tree.scope_rp_uuid, self.configs[COMPUTE_NODE])
        return chosen


def _add(config: Provider, tree: ProviderSubTree, uuid: str, taken: Inventory) -> None:
    tree.add_traits(uuid, *additional_traits(config))
    inventory, given = tree.data(uuid).inventory, additional_inventories(config)
    if owned := sorted(given.keys() & inventory.keys()):
        raise ValueError(
            f"Invalid provider config {config[SOURCE_FILE]}: {', '.join(owned)} of "
            f"provider {uuid} is owned by the virt driver"
        )
    for name, record in given.items():
        before = taken.get(name)
        if before is not None and not record.items() <= before.items():
            LOG.warning(
                "Provider config file %s changes %s of provider %s from %s to %s",
                config[SOURCE_FILE],
                name,
                uuid,
                before,
                record,
            )
    kept = {name: {**taken.get(name, {}), **record} for name, record in given.items()}
    # These classes were taken out for another entry, which doesn't apply to this provider.
    others = {name: record for name, record in taken.items() if name not in given}
    tree.update_inventory(uuid, {**others, **inventory, **kept})
