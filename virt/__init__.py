"""Drivers: what a host has, as resource providers.

Read `driver` first: the contract that every driver keeps. `fake`, `host`, `libvirt` and `ironic`
are drivers. `node` has what drivers of one machine share, `reshape` the moves of inventory with its
allocations, `testing` a conformance kit for drivers.
"""
