"""Changes of state. Each operation is one transaction: all of it happens, or none.

See architecture.rst D3.

Locks are taken in one order everywhere, so that operations can't wait for each other in a circle:
consumers first, then providers, each by ascending id. What an operation needs of either it locks
with one statement; what that is it finds out before, unlocked, and looks again afterwards. If
something changed in between, LostRace has the transaction run again.
"""
