"""GET /allocation_candidates as a chain over a snapshot of the cloud (architecture.rst D4, D5).

request → snapshot → filter (masks of providers, roots) → combine (per tree) → limit → render.
"""
