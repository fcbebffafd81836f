"""/allocation_candidates (allocation-candidates.md)."""

import time
from collections.abc import Callable

import flask
from oslo_config import cfg

from placement.candidates import render
from placement.candidates.budget import Budget
from placement.candidates.request import Generation
from placement.candidates.search import search
from placement.handlers.allocation_candidates_query import read_request
from placement.http.call import NOW, Call
from placement.http.environ import CANDIDATES, SEARCH
from placement.metrics.families import OF_GROUP, TOGETHER


def list_all(call: Call) -> flask.Response:
    """GET /allocation_candidates"""
    call.authorize("placement:allocation_candidates:list")
    request = read_request(call)
    generation = generation_of(call.conf, call.context.request_id)
    snapshot = call.snapshot.current()
    begun = time.perf_counter()
    found = search(snapshot, request, budget_of(call), generation)
    count = len(found)
    reason = None if count else OF_GROUP if found.shape is None else TOGETHER
    call.environ[CANDIDATES] = count
    call.environ[SEARCH] = time.perf_counter() - begun, count, reason
    if not count:
        call.empty_searches.tell(call, snapshot, request)
    return call.reply(pieces=render.body(found, call.version), modified=NOW)


def generation_of(conf: cfg.ConfigOpts, request_id: str) -> Generation:
    """Return the configured way to generate candidates (allocation-candidates.md 4)."""
    group = conf.placement
    most = group.max_allocation_candidates
    return Generation(
        # in the reference, 0 means the same as 1
        cap=None if most < 0 else max(most, 1),
        depth_first=group.allocation_candidates_generation_strategy == "depth-first",
        seed=request_id if group.randomize_allocation_candidates else None,
    )


def budget_of(call: Call, clock: Callable[[], float] = time.monotonic) -> Budget:
    """Return the configured limits for the search, whose time starts now.

    :param clock: what measures the time: `time.thread_time` counts the work of this thread alone
    """
    group = call.conf.berth
    return Budget(
        group.search_time_limit or None,
        group.search_memory_limit * 1024 * 1024 or None,
        call.client_left,
        clock,
    )
