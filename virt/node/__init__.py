"""What a machine has, and how that becomes a node's resource providers (compute.md §6.5–§6.9).

For drivers of one node: such a driver derives from virt.node.driver.NodeDriver, and brings a
virt.node.facts.HostInfo, which describes the machine.

Read `node_update` next: one update, from `provider_layout`, which works out the wanted providers,
to `virt.reshape`, which moves what has to move. `consumers` and `guest_places` say what guests have
where.
"""
