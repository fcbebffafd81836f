"""Operations that change data. Each operation is one transaction (architecture.rst D3).

All operations lock rows in the same order, so that they can't deadlock: consumers first, then
providers, each in ascending order of ids. An operation locks all its consumers with one statement
and all its providers with another one. It reads without locks which rows these are, locks them, and
checks afterwards that they are still the right ones. If not, it raises LostRace, and the
transaction is run again.
"""
