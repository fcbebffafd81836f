"""Plans: which few moves make room (extensions.rst).

Begin with `room.py`, which finds the moves after which a request fits. `terms.py` and
`terms_schema.py` are what a request may say of every plan: who may move, who may be where, and what
the movers ask for. `planner.py` tries one move, then two, and so on: `clearing.py` says who has to
leave a tree, `looking.py` finds places by the candidate search, `free_places.py` those that need no
clearing, once for all that ask for the same, `order.py` puts the moves into an
order. `relaxed.py` and `least_moves.py` say how many moves it takes at least. Nothing is moved: it
is a question about one snapshot.
"""
