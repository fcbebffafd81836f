"""GET /allocation_candidates as a chain over a snapshot of the cloud (architecture.rst D4, D5).

request → snapshot → filter (masks of providers, roots) → trees (a problem for each) → search (their
solutions, up to the limit) → render. candidate_search.rst follows an example.
"""
