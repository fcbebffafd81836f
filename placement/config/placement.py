"""Options of group [placement]."""

from oslo_config import cfg

NIL_UUID = "00000000-0000-0000-0000-000000000000"

OPTIONS = [
    cfg.BoolOpt(
        "randomize_allocation_candidates",
        default=False,
        help="With `limit`, return a random sample of the candidates instead of the first ones.",
    ),
    cfg.StrOpt(
        "incomplete_consumer_project_id",
        default=NIL_UUID,
        help="Project of consumers whose requests name no project (microversion < 1.8).",
    ),
    cfg.StrOpt(
        "incomplete_consumer_user_id",
        default=NIL_UUID,
        help="User of consumers whose requests name no user (microversion < 1.8).",
    ),
    cfg.IntOpt(
        "allocation_conflict_retry_count",
        default=10,
        help="How often a write of allocations, or a reshape, is tried while other writers change "
        "the same providers or consumers; 0: never, so that all writes are rejected.",
    ),
    cfg.IntOpt(
        "max_allocation_candidates",
        default=-1,
        help="Maximum number of candidates generated for one request; -1: no limit.",
    ),
    cfg.StrOpt(
        "allocation_candidates_generation_strategy",
        default="depth-first",
        choices=[
            ("depth-first", "all candidates of one root before those of the next"),
            ("breadth-first", "one candidate of each root in turn"),
        ],
        help="Order in which candidates are generated.",
    ),
]
