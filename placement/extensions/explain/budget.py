"""What an explanation may cost (extensions.md 5)."""

from placement.candidates.budget import Budget
from placement.http.call import Call


def relaxing_of(call: Call) -> Budget:
    """Return the configured limits for finding out what would help, whose time starts now."""
    group = call.conf.berth
    return Budget(
        group.explain_budget_ms / 1000,
        group.search_memory_limit * 1024 * 1024 or None,
        call.client_left,
    )
