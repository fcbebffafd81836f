"""Whole trees of providers in one answer, read in one transaction (extensions.md 2).

Begin with `handler.py`, which answers, or says that nothing changed. `query.py` reads the query,
`tree_pages.py` writes the answer page by page with `tree_text.py`, and `rows.py` has the SQL.
"""
