"""What OpenStack Placement doesn't have, a folder for each feature.

Each feature has the same files, as far as it needs them: `routes.py` says where it is, `handler.py`
reads a request and answers, `schema.py` says what requests and answers look like, and `policy.py`
who may ask. `operation.py` has the transaction, `rules.py` the rules over plain values, `rows.py`
the SQL.
"""
