"""Statements of PostgreSQL that may be put off, because they write nothing in an unusual case.

A statement whose answer decides what comes next can't go in one message with the end of the
transaction. If the answer is nearly always the same, the transaction assumes that: otherwise the
statement itself writes nothing and finds no row. Then the operation is run again, this time waiting
for the answer (`Connection.assumes`).
"""


class Unusual(Exception):
    """What a transaction assumed was wrong, and it has changed nothing."""
