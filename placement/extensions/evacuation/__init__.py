"""Whether all consumers of some trees would find room elsewhere (extensions.md 6).

Begin with `operation.py`. `movers.py` says what the consumers ask for, `given_requests.py` reads
what a request says of that, `plan.py` finds a new home for each of them in one order, and
`proof.py` says whether another order could be better. Nothing is moved: it is a question about one
snapshot.
"""
