"""A whole tree of providers, with its allocations, written by one request (extensions.md 3).

Begin with `rules.py`: what a change means for the stored providers, and what it must not do.
`operation.py` is the transaction, `handler.py` reads the request and words the errors.

Others may claim, allocate and change providers of the tree meanwhile. The transaction first locks
the consumers and all providers that it needs, in ascending order of ids. If the tree changed before
the locks so that further providers, or stronger locks, are needed, the transaction begins again.
After that nobody else can change these providers until it has ended.
"""
