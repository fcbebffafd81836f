"""How many more of a request fit into the cloud (extensions.md 6).

Begin with `operation.py`, which counts for several requests, and `count.py`, which counts for one
and names the files behind it. All is arithmetic on one snapshot, so other writers don't matter.
"""
