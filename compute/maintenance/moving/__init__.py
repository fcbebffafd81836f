"""What guests ask for when they move, for the commands that plan moves.

Read `guest_queries` first: it says it of one guest. `moving_guests` asks it of all guests of the
records, `askable` says which requests placement would refuse.
"""
