"""What the operator's provider configuration files add to a node's providers (compute.md §4.8).

The classes that a file adds are taken out of the tree before the driver's edit, and put back
afterwards. So a class that is in the tree after the driver's edit is the driver's, and no file may
add it. The operator may change everything else that a file names, whoever stored it before.

What an earlier file added and the present one doesn't add is taken out as well. Unless the driver's
edit brings it back, it is removed, except for classes that a consumer holds some of.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from compute.provider_config import (
    COMPUTE_NODE,
    SOURCE_FILE,
    Provider,
    additional_inventories,
    additional_traits,
)
from compute.provider_tree import ProviderSubTree
from compute.provider_tree.inventory_record import Inventory
from compute.resource_tracker.provider_yaml.applied_configs import Added, Applied

LOG = logging.getLogger(__name__)

NOTHING = Added()


@dataclass(frozen=True)
class TakenOut:
    """What was taken out of a tree, and what the providers had before that entries are about.

    :param inventories: provider uuid → class → record, as placement has it
    :param leaving: provider uuid → what an earlier file added and the present one doesn't
    :param present: provider uuid → all traits and classes that it has in placement
    """

    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    leaving: Mapping[str, Added] = field(default_factory=dict)
    present: Mapping[str, Added] = field(default_factory=dict)


@dataclass(frozen=True)
class MergedAdditions:
    """The outcome of a merge: what files add now, and what is removed.

    :param after: provider uuid → what files added, once this is written
    :param removed: provider uuid → what is no longer there
    :param records: provider uuid → class → record, of the classes in `removed`
    :param kept: provider uuid → what would be in `removed` if no consumer held some of it
    """

    after: Applied = field(default_factory=dict)
    removed: Mapping[str, Added] = field(default_factory=dict)
    records: Mapping[str, Inventory] = field(default_factory=dict)
    kept: Mapping[str, Added] = field(default_factory=dict)

    def put_back(self, tree: ProviderSubTree) -> None:
        """Put back what was removed."""
        for uuid, added in self.removed.items():
            tree.add_traits(uuid, *added.traits)
            records = self.records.get(uuid, {})
            tree.update_inventory(uuid, {**records, **tree.data(uuid).inventory})


@dataclass(frozen=True)
class ProviderAdditions:
    """Merges the entries of the files into one tree.

    :param configs: provider id → its entry, as `get_provider_configs` gives them
    :param on_absent: called with each id that the tree doesn't have
    :param on_present: called with each id that the tree has
    :param applied: what earlier files added; None: that was never noted
    """

    configs: Mapping[str, Provider]
    on_absent: Callable[[str], None]
    on_present: Callable[[str], None]
    applied: Applied | None = None

    def take_out(self, tree: ProviderSubTree) -> TakenOut:
        """Remove from the tree the classes that entries add, and what no entry adds any more."""
        chosen = self._chosen(tree)
        applied = self.applied or {}
        inventories: dict[str, Inventory] = {}
        leaving: dict[str, Added] = {}
        present: dict[str, Added] = {}
        for uuid in sorted(chosen.keys() | applied.keys()):
            if not tree.exists(uuid):
                continue
            data = tree.data(uuid)
            here = Added(frozenset(data.traits), frozenset(data.inventory))
            listed = _listed(chosen.get(uuid))
            gone = (applied.get(uuid, NOTHING) - listed) & here
            theirs = listed.classes | gone.classes
            records = {name: record for name, record in data.inventory.items() if name in theirs}
            present[uuid] = here
            if gone:
                leaving[uuid] = gone
                tree.remove_traits(uuid, *gone.traits)
            if records:
                inventories[uuid] = records
                rest = {name: one for name, one in data.inventory.items() if name not in records}
                tree.update_inventory(uuid, rest)
        return TakenOut(inventories, leaving, present)

    def merge(
        self,
        tree: ProviderSubTree,
        taken: TakenOut,
        held: Callable[[str], Collection[str]],
    ) -> MergedAdditions:
        """Add what the entries say, after the driver's edit.

        A field that an entry leaves out stays as placement has it. A class that was taken out and
        isn't added after all is put back.

        :param held: provider uuid → the classes that consumers hold some of

        Raises ValueError if a class is the driver's, or if two entries are about one provider, one
        by its uuid and one by its name; and what `held` raises.
        """
        chosen = self._chosen(tree)
        self._tell_which_exist(tree)
        after = dict(self.applied or {})
        removed: dict[str, Added] = {}
        kept: dict[str, Added] = {}
        records: dict[str, Inventory] = {}
        for uuid in sorted(chosen.keys() | taken.present.keys()):
            if not tree.exists(uuid):
                continue
            data = tree.data(uuid)
            listed = _listed(chosen.get(uuid))
            of_the_driver = Added(frozenset(data.traits), frozenset(data.inventory))
            gone = taken.leaving.get(uuid, NOTHING) - listed - of_the_driver
            stays = Added(classes=gone.classes & set(held(uuid))) if gone.classes else NOTHING
            before = taken.inventories.get(uuid, {})
            lost = gone - stays
            _add(chosen.get(uuid), tree, uuid, before, lost.classes)
            after[uuid] = self._added(uuid, listed, taken) | stays
            if stays:
                kept[uuid] = stays
            if lost:
                removed[uuid] = lost
                records[uuid] = {name: before[name] for name in lost.classes}
        return MergedAdditions(after, removed, records, kept)

    def named(self, tree: ProviderSubTree) -> set[str]:
        """Return the uuids of the providers in the tree that entries are about."""
        return set(self._chosen(tree))

    def _added(self, uuid: str, listed: Added, taken: TakenOut) -> Added:
        """Return the part of what entries list that counts as the files' own.

        What a provider has already when a file first lists it is somebody else's. Where nothing was
        ever noted, all counts as the files': most likely, a release without notes added it.
        """
        if self.applied is None:
            return listed
        before = self.applied.get(uuid, NOTHING)
        return (listed & before) | (listed - taken.present.get(uuid, NOTHING))

    def _tell_which_exist(self, tree: ProviderSubTree) -> None:
        for provider_id in self.configs:
            if provider_id == COMPUTE_NODE:
                continue
            exists = tree.exists(provider_id)
            (self.on_present if exists else self.on_absent)(provider_id)

    def _chosen(self, tree: ProviderSubTree) -> dict[str, Provider]:
        """Return provider uuid → the one entry that is about that provider."""
        chosen: dict[str, Provider] = {}
        for provider_id, config in self.configs.items():
            if provider_id == COMPUTE_NODE or not tree.exists(provider_id):
                continue
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


def _listed(config: Provider | None) -> Added:
    if config is None:
        return NOTHING
    return Added(frozenset(additional_traits(config)), frozenset(additional_inventories(config)))


def _add(
    config: Provider | None,
    tree: ProviderSubTree,
    uuid: str,
    taken: Inventory,
    lost: Collection[str],
) -> None:
    """Add a provider's entry, if it has one; put back what was taken out and isn't `lost`."""
    inventory = tree.data(uuid).inventory
    given: Inventory = {}
    if config is not None:
        tree.add_traits(uuid, *additional_traits(config))
        given = additional_inventories(config)
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
    # What was taken out goes back if no entry of this provider adds it and it isn't lost: classes
    # of an entry for another provider, and classes that consumers still hold.
    others = {
        name: record for name, record in taken.items() if name not in given and name not in lost
    }
    tree.update_inventory(uuid, {**others, **inventory, **kept})
