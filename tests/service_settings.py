"""How services of tests differ from those of operators: what they do never depends on the time."""

from tests.patience import PATIENCE

#: nothing audits in the background, and no search or explanation ends early, however slow the
#: machine is. A test sets these options itself if they are what it is about
UNTIMED = {
    ("berth", "snapshot_audit_interval"): 0,
    ("berth", "search_time_limit"): 0,
    ("berth", "explain_budget_ms"): PATIENCE * 1000,
}
#: for tests that audit themselves: the thread that would do it first waits longer than any test
AUDITED = {"berth__snapshot_audit_interval": 1_000 * PATIENCE}
