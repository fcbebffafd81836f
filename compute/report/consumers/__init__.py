"""What consumers hold, request and use.

`allocations` reads and writes what consumers hold, `consumer` what one consumer holds with its
generation. `instance_allocations` claims, moves and adjusts. `candidates` asks where a
`resource_request` fits; `usages` counts for quotas and limits.
"""
