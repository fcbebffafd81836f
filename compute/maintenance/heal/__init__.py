"""Allocations that instances should have: the command heal_allocations.

Read `heal` first: `Healer.plan` decides what an instance lacks, and `Healer.apply` writes it.
`placing` chooses the providers of new allocations. `guest_places` asks drivers and records on which
providers an instance has its resources. `doubling` finds what it holds more than once.
`port_healing` adds what the `ports` of the instance lack.
"""
