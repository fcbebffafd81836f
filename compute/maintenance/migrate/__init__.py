"""A reshape while the compute service is down: the command migrate_compute_inventory.

Read `migration` first: it has a tracker work out what the node's providers should be, and writes or
rehearses that. `offline_tracker` makes the tracker, `rehearsal` a report client that never writes.
`moves` and `reshape_check` describe what a rehearsal finds.
"""
