"""Find a candidate and allocate it in one request (extensions.md 4).

Read in the order of a claim: `handler.py` makes a `ClaimRequest`; `claim_lines.py` has claims of
this process wait, each with its thread, until one thread makes some of them together;
`claim_batch.py` plans these one after the other and writes once; `operation.py` is one claim, and
that write; `claim_plan.py` plans for the consumers of a claim; `choice.py` chooses one candidate.

Other processes claim, allocate and change providers meanwhile. A plan is made from the snapshot,
without locks. The write locks the consumers and the providers, sees whether each choice is still a
candidate, and checks capacities; if anything is different now, the claim is planned anew.
"""
