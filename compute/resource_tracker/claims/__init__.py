"""Claims: giving instances a share of a node, and taking it back.

`claims` does it for new instances, `moves` for instances that move; both go through
`claim_recorder`. `claim` is what callers get. `orders` reads which providers an instance was given,
`device_choice` chooses PCI devices, `numa_fit` cells and `named_resources` resources; `pci_tracker`
has the devices of instances that exist already.
"""
