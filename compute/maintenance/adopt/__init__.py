"""Moving all that a host has to another root: the command adopt_provider.

Read `adoption` first: it has the steps in their order. `adoption_reads` reads both trees,
`adoption_inventory` merges the inventories of two providers.
"""
