"""Moves that empty a host: the command drain.

Read `draining` first: it plans the moves. `moving.guest_queries` says what each consumer asks for,
`candidate_places` asks placement for the places.
"""
