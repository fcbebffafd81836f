"""What many consumers hold, and what is held of many providers, in one answer (extensions.md 2).

All is in `handler.py`, with the rows and the texts of whole trees (`provider_trees/tree_text.py`).
The answer is read in one transaction.
"""
