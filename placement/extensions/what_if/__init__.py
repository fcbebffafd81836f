"""The cloud as if something were different, for questions about it (extensions.rst).

`schema.py` is what a request may say under the key `if`. `drafts.py` holds what providers would
have; `changed_cloud.py` makes the changes in a snapshot; `as_if_released.py` releases what some
consumers hold. Nothing is stored.
"""
