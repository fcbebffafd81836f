"""A driver of a whole imaginary cloud: thousands of nodes, all different, and always the same."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations
from virt.fake.cells_and_cards import cells_and_cards, of_cells_and_cards
from virt.fake.driver import FakeDriver, NodesNamedByUUID
from virt.reshape import numa
from virt.sriov import PhysicalFunction
from virt.virtapi import VirtAPI

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree

_PROCESSORS = (16, 32, 64, 128)
_GIB_PER_PROCESSOR = (2, 4, 8)
_DISK_GB = (500, 1000, 2000, 4000)
_CELLS = (0, 0, 2, 2, 4)
_CARDS = (0, 0, 1, 2)
_VIRTUAL_FUNCTIONS = (8, 16, 63)
_NETWORKS = ("physnet0", "physnet1", "storage")
_TRAITS = (
    "HW_CPU_X86_AVX2",
    "HW_CPU_X86_AVX512F",
    "HW_CPU_X86_AESNI",
    "HW_CPU_X86_VMX",
    "STORAGE_DISK_SSD",
    "CUSTOM_RACK_EVEN",
    "CUSTOM_RACK_ODD",
)


@dataclass(frozen=True)
class NodeShape:
    """One node. Memory in MiB, disk in GiB; no `cells` means that everything is on the root."""

    vcpus: int
    memory_mb: int
    local_gb: int
    cells: int
    cards: Sequence[PhysicalFunction]
    traits: Sequence[str]


def shape_of(seed: int, number: int) -> NodeShape:
    """Return what the node of this number is like in the cloud of this seed."""
    draw = random.Random(f"{seed}/{number}")
    vcpus, cells = draw.choice(_PROCESSORS), draw.choice(_CELLS)
    cards = [
        PhysicalFunction(
            name=f"ens{card}",
            physical_network=draw.choice(_NETWORKS),
            virtual_functions=[f"ens{card}v{n}" for n in range(draw.choice(_VIRTUAL_FUNCTIONS))],
            numa_node=draw.randrange(cells) if cells else None,
        )
        for card in range(draw.choice(_CARDS))
    ]
    return NodeShape(
        vcpus=vcpus,
        memory_mb=vcpus * draw.choice(_GIB_PER_PROCESSOR) * 1024,
        local_gb=draw.choice(_DISK_GB),
        cells=cells,
        cards=cards,
        traits=draw.sample(_TRAITS, draw.randrange(len(_TRAITS))),
    )


class FakeLargeScaleDriver(NodesNamedByUUID, FakeDriver):
    """Manages `nodes` nodes, called `<host>-00000` and so on.

    What a node is like – its size, NUMA cells, cards and traits – follows from `seed` and its
    number alone. By default both are those of `[berth]fake_nodes` and `[berth]fake_seed`.
    """

    def __init__(
        self,
        virtapi: VirtAPI,
        conf: cfg.ConfigOpts | None = None,
        nodes: int | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(virtapi, conf)
        self._count: int = self.conf.berth.fake_nodes if nodes is None else nodes
        self._seed: int = self.conf.berth.fake_seed if seed is None else seed
        self._shape = cache(lambda number: shape_of(self._seed, number))
        self._number: dict[str, int] = {}

    def init_host(self, host: str) -> None:
        """Name the nodes after the host."""
        self._number = {f"{host}-{number:05}": number for number in range(self._count)}
        self._set_nodes(self._number)

    def node_is_available(self, nodename: str) -> bool:
        """Say whether the node is one of ours; there are too many to look through a list."""
        return nodename in self._number

    def shape(self, nodename: str) -> NodeShape:
        """Return what a node is like. Raises ComputeHostNotFound if it isn't ours."""
        if nodename not in self._number:
            raise exceptions.ComputeHostNotFound(host=nodename)
        return self._shape(self._number[nodename])

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report the node as its shape says; it never needs a reshape."""
        shape = self.shape(nodename)
        is_ours = of_cells_and_cards(nodename, shape.cards)
        now = numa.inventories_now(provider_tree, nodename, is_ours)
        root = self._root_inventory(numa.inherited(now, nodename), nodename)
        if shape.cells:
            root = {"DISK_GB": root["DISK_GB"]}
        share = {
            "VCPU": shape.vcpus // max(1, shape.cells),
            "MEMORY_MB": shape.memory_mb // max(1, shape.cells),
        }
        wanted = cells_and_cards(
            nodename,
            dict.fromkeys(range(shape.cells), share),
            shape.cards,
            now,
            self._reserved(),
            self._get_allocation_ratios,
        )
        numa.arrange(provider_tree, nodename, root, wanted, is_ours, allocations)
        provider_tree.add_traits(nodename, *shape.traits)

    def _totals(self, nodename: str) -> dict[str, Any]:
        shape = self.shape(nodename)
        return {"VCPU": shape.vcpus, "MEMORY_MB": shape.memory_mb, "DISK_GB": shape.local_gb}
