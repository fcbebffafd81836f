"""What a machine has, and how that becomes a node's resource providers (compute.md §6.5–§6.9).

For drivers of one node, whoever they learn the facts from: the driver derives from
virt.node.driver.NodeDriver and brings a virt.node.facts.HostInfo.
"""
