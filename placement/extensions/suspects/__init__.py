"""What looks wrong in a database, and since when (extensions.md 12).

Begin with `rules.py`, which lists the kinds, and `kinds.py`, which finds and describes them.
`operation.py` makes a page of all kinds; `rows.py` and `snapshot_suspects.py` ask the tables and
the snapshot.
"""
