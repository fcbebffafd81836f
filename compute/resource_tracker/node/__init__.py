"""One node: its record, its traits, and what is counted of it.

Read `node` first: TrackedNode has all that is known of a node, `nodes` has the nodes of the
service. `node_records` reads the cell database, `usage` and `stats` count.
"""
