"""What the records of a host say of consumers: whose they are, and what they should hold.

`rules` says whether a consumer still needs its allocations, from the evidence that `evidence`
reads. `held_shares` says what an instance holds of a node, also while it moves;
`instance_resources` turns a flavor into resources.
"""
