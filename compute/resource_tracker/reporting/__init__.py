"""Reporting a node to placement and to the cell database.

Read `reporting` first. `driver_tree` has the driver edit the tree, `reshape` lets it move
allocations. `pci_reporting` adds PCI devices. `patience` tries again when other writers were
quicker; `lowered_inventory` warns of what is over capacity afterwards.
"""
