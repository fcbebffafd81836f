"""Allocations that instances should have: the command heal_allocations.

Read `heal` first: `Healer.plan` decides what an instance lacks, and `Healer.apply` writes it.
`maintenance.guests` finds what an instance holds too little of. `placing` asks the one placement of
shares for the providers, `guest_places` drivers and records where the instance has its resources,
and `completion` adds what lacks. `doubling` finds what it holds more than once. `port_healing` adds
what its `ports` lack.
"""
