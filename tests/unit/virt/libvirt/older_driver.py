"""The libvirt driver as it was before some classes had providers of their own."""

from virt.inventory import record
from virt.libvirt import LibvirtDriver


class OlderDriver(LibvirtDriver):
    """Has more classes on the root, and none of the children that came for them later.

    `former` is class → total.
    """

    def __init__(self, virtapi, conf, host_info, former):
        super().__init__(virtapi, conf, host_info)
        self.former = former

    def update_provider_tree(self, tree, nodename, allocations=None):
        others = tree.get_provider_uuids(nodename)
        super().update_provider_tree(tree, nodename, allocations)
        for child in tree.get_provider_uuids(nodename):
            if child not in others and self.former.keys() & tree.data(child).inventory.keys():
                tree.remove(child)
        former = {name: record(total) for name, total in self.former.items()}
        tree.update_inventory(nodename, tree.data(nodename).inventory | former)
