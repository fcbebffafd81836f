"""What guests should have of their nodes, for commands that compare it with placement.

`shares` has what the records say of a guest's share, and what its flavor asks for; `shortfalls`
finds guests that hold less.
"""
