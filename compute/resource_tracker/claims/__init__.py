"""Claims: giving instances a share of a node, and taking it back.

`claims` does it for new instances, `moves` for instances that move; both go through
`claim_recorder`. `claim` is what callers get. `numa_fit` and `named_resources` choose cells and
resources; `pci_tracker` has the devices of instances that exist already.
"""
