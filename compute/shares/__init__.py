"""Where a guest's share of a node lies: the one placement of shares.

Read `placing` first: `places_of` says which provider gives what, or why none can. `unsuffixed` and
`suffixed` place the groups of a request, `ledger` counts what is left meanwhile. `known` is what
records say of a guest's place, `lacking` judges what a guest holds already.
"""
