"""Plans: which few moves make room (extensions.rst).

`terms.py` and `terms_schema.py` are what a request may say of every plan: who may move, who goes
where, and what the movers ask for. Nothing is moved: it is a question about one snapshot.
"""
