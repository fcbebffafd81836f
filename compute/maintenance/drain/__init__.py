"""Moves that empty a host: the command drain.

Read `draining` first: it plans the moves. `candidate_places` asks placement for the places.
"""
