"""/allocation_candidates, and its query (allocation-candidates.md 1).

The first error of a query is reported. allocation-candidates.md 1.1 fixes the order of the checks.
"""

import dataclasses
import functools
import re
import time
from collections.abc import Callable

from oslo_config import cfg

from placement.candidates import render
from placement.candidates.budget import Budget
from placement.candidates.request import CandidateRequest, Generation, Group
from placement.candidates.search import keep_answer, known_answer, search
from placement.domain.uuids import is_uuid_like
from placement.errors import BadQuery, BadQueryValue, BadRequest, DuplicateKey, MissingValue
from placement.http.call import NOW, Answer, Call
from placement.http.environ import CANDIDATES, SEARCH
from placement.http.query import (
    Query,
    checked_query,
    parse_all_traits,
    parse_member_of,
    parse_resources,
    parse_traits,
)
from placement.metrics.families import OF_GROUP, TOGETHER
from placement.microversions import SINCE_FORBIDDEN_TRAITS, Version
from placement.schemas import allocation_candidates as schemas
from placement.schemas.filters import (
    FORBIDDEN_AGGREGATES,
    REPEATED_MEMBER_OF,
    SUBTREES,
)
from placement.schemas.json_schema import pick

GROUPS: Version = (1, 25)
NESTED: Version = (1, 29)

_MOST_DIGITS = 18
#: size of the cache of parsed queries, and the longest query that it takes, in characters
_KEPT, _LONGEST_KEPT = 256, 2048
#: the longest query in a body, in characters: what placement-api lets through in a URL. A search
#: has to be read and prepared before its limits of time and memory hold
LONGEST_IN_BODY = 64 * 1024
_GROUP_KEY = re.compile(r"(resources|required|member_of|in_tree)(.*)", re.DOTALL)
_AFTER_SUBTREES = "`same_subtree`"


def list_all(call: Call) -> Answer:
    """GET /allocation_candidates"""
    call.authorize("placement:allocation_candidates:list")
    text = call.environ.get("QUERY_STRING", "")
    request = request_of(text, call.version)
    generation = generation_of(call.conf, call.context.request_id)
    snapshot = call.snapshot.current()
    begun = time.perf_counter()
    # the request is its text as the version reads it; a random choice differs each time
    question = text, call.version, generation
    is_repeatable = generation.seed is None and len(text) <= _LONGEST_KEPT
    known = known_answer(snapshot, question) if is_repeatable else None
    reason = None
    if known is None:
        found = search(snapshot, request, budget_of(call), generation)
        count = len(found)
        reason = None if count else OF_GROUP if found.shape is None else TOGETHER
    else:
        count, pieces = known
    call.environ[CANDIDATES] = count
    call.environ[SEARCH] = time.perf_counter() - begun, count, reason
    if not count:
        call.empty_searches.tell(call, snapshot, request)
    if known is None:
        pieces = render.body(found, call.version)
        if is_repeatable:
            keep_answer(question, found, pieces)
    return call.reply(pieces=pieces, modified=NOW)


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


def request_of(text: str, version: Version) -> CandidateRequest:
    """Parse a query as the version understands it. Raises BadRequest or a subclass of it.

    :param text: in the form of WSGI: each character is one byte
    """
    read = _read_once if len(text) <= _LONGEST_KEPT else _read
    return read(text, version)


def request_in_body(text: str, version: Version) -> CandidateRequest:
    """Parse a query that stands in a body. Raises what `request_of` raises."""
    if len(text) > LONGEST_IN_BODY:
        raise BadRequest(
            f"A query may have at most {LONGEST_IN_BODY} characters, as many as a URL. This one "
            f"has {len(text)}."
        )
    # the parser takes the bytes of a URL; what is no UTF-8 it refuses
    return request_of(text.encode(errors="surrogatepass").decode("latin-1"), version)


def _read(text: str, version: Version) -> CandidateRequest:
    query = checked_query(text, schemas.LIST, version)
    limit = _limit(query, version)
    required, forbidden = _root_required(query)
    subtrees = [_subtree(value) for value in query.all("same_subtree")]
    groups = _groups(query, version)
    if version >= SUBTREES:
        _check_subtree_groups(groups, subtrees)
    elif version >= GROUPS:
        _check_resources(groups)
    if version >= SINCE_FORBIDDEN_TRAITS:
        _check_conflicts(groups)
    policy = _policy(query)
    if policy is None and sum(bool(group.suffix) for group in groups) > 1:
        raise BadRequest(
            'The "group_policy" parameter is required when specifying more than one '
            '"resources{N}" parameter.'
        )
    return CandidateRequest(
        tuple(groups),
        required,
        forbidden,
        tuple(frozenset(subtree) for subtree in subtrees),
        isolate=policy == "isolate",
        nested=version >= NESTED,
        limit=limit,
    )


#: cached because a scheduler repeats the queries of a few flavors
_read_once = functools.lru_cache(maxsize=_KEPT)(_read)


def _limit(query: Query, version: Version) -> int | None:
    """Return the first `limit`; the schema has validated only the last one."""
    values = query.all("limit")
    if not values:
        return None
    if len(values) > 1:
        reason = pick(schemas.LIST, version).why_not(query.last() | {"limit": values[0]})
        if reason is not None:
            raise BadQuery(why=reason)
    # int() rejects very long texts, and no number of candidates has this many digits
    return int(values[0][:_MOST_DIGITS])


def _policy(query: Query) -> str | None:
    values = query.all("group_policy")
    return values[0] if values else None


def _root_required(query: Query) -> tuple[frozenset[str], frozenset[str]]:
    values = query.all("root_required")
    if not values:
        return frozenset(), frozenset()
    if len(values) > 1:
        raise DuplicateKey("Query parameter 'root_required' may be specified only once.")
    # `root_required` accepts no any-of traits in any version
    sets, forbidden = parse_traits(values[0], _BEFORE_ANY_TRAITS)
    required = frozenset().union(*sets)
    both = sorted(required & forbidden)
    if both:
        raise BadQueryValue(
            "Conflicting required and forbidden traits found in root_required: " + ", ".join(both)
        )
    return required, forbidden


_BEFORE_ANY_TRAITS: Version = (1, 38)


def _subtree(value: str) -> list[str]:
    suffixes = [suffix.strip() for suffix in value.split(",")]
    if not all(suffixes):
        raise BadQueryValue(
            f"Empty string (unsuffixed group) can not be specified in {_AFTER_SUBTREES} "
        )
    return suffixes


def _groups(query: Query, version: Version) -> list[Group]:
    """Return the groups in the order of their first keys."""
    groups: dict[str, Group] = {}
    values: dict[str, list[str]] = {}
    for key, value in query.pairs:
        values.setdefault(key, []).append(value)
    for key, value in query.pairs:
        match = _GROUP_KEY.fullmatch(key)
        if match is None:
            continue
        name, suffix = match.groups()
        group = groups.setdefault(suffix, Group(suffix))
        if name == "resources":
            group = dataclasses.replace(group, resources=parse_resources(value))
        elif name == "in_tree":
            group = dataclasses.replace(group, in_tree=_tree(value))
        elif key in values:
            # read all values of a repeated key at its first place
            given = values.pop(key)
            if name == "required":
                required, forbidden = parse_all_traits(given, version)
                group = dataclasses.replace(group, required=required, forbidden=forbidden)
            else:
                group = _with_aggregates(group, given, version)
        groups[suffix] = group
    return list(groups.values())


def _tree(value: str) -> str:
    uuid = value.strip()
    if not is_uuid_like(uuid):
        raise BadQuery(why=f"Expected 'in_tree' parameter to be a format of uuid. Got: {value}")
    return uuid


def _with_aggregates(group: Group, values: list[str], version: Version) -> Group:
    if len(values) > 1 and version < REPEATED_MEMBER_OF:
        raise BadRequest(f"Multiple member_of{group.suffix} parameters are not supported")
    required: list[frozenset[str]] = []
    forbidden: set[str] = set()
    for value in values:
        forbids, aggregates = parse_member_of(value)
        if not forbids:
            required.append(aggregates)
            continue
        if version < FORBIDDEN_AGGREGATES:
            raise BadRequest(
                f"Forbidden member_of{group.suffix} parameters are not supported in the "
                "specified microversion"
            )
        forbidden |= aggregates
    return dataclasses.replace(
        group, member_of=tuple(dict.fromkeys(required)), not_member_of=frozenset(forbidden)
    )


def _check_resources(groups: list[Group]) -> None:
    """Raise BadRequest if a group has no resources; for versions up to 1.35.

    See allocation-candidates.md 1.6.
    """
    bare = [group for group in groups if not group.resources]
    orphans = [f"required{group.suffix}" for group in bare if group.required]
    if orphans:
        raise BadRequest(
            "All traits parameters must be associated with resources.  "
            f"Found the following orphaned traits keys: {', '.join(orphans)}"
        )
    orphans = [
        f"member_of{group.suffix}" for group in bare if group.member_of or group.not_member_of
    ]
    if orphans:
        raise BadRequest(
            "All member_of parameters must be associated with resources. "
            f"Found the following orphaned member_of keys: {', '.join(orphans)}"
        )
    if bare:
        raise BadRequest("All request groups must specify resources.")
    if not groups:
        raise BadRequest("At least one request group (`resources` or `resources{$S}`) is required.")


def _check_subtree_groups(groups: list[Group], subtrees: list[list[str]]) -> None:
    """Raise unless each group has resources or a subtree names it; since 1.36.

    See allocation-candidates.md 1.6.

    Raises MissingValue or BadQueryValue.
    """
    if not any(group.resources for group in groups):
        raise MissingValue("There must be at least one resources or resources[$S] parameter.")
    named = dict.fromkeys(suffix for subtree in subtrees for suffix in subtree)
    bad = [g.suffix for g in groups if not g.resources and g.suffix not in named]
    if bad:
        raise BadQueryValue(
            "Resourceless suffixed group request should be specified in `same_subtree` query "
            f"param: bad group(s) - {bad}."
        )
    real = [group.suffix for group in groups]
    known = frozenset(real)
    unknown = [suffix for suffix in named if suffix not in known]
    if unknown:
        raise BadQueryValue(
            f"Real suffixes should be specified in `same_subtree`: {unknown} not found in {real}."
        )


def _check_conflicts(groups: list[Group]) -> None:
    """Raise BadRequest if a group forbids every trait of one of its own required sets."""
    conflicts = []
    for group in groups:
        entries = sorted(
            ", ".join(sorted(names)) for names in group.required if names <= group.forbidden
        )
        conflicts += [f"required{group.suffix}: ({names})" for names in entries]
    if conflicts:
        raise BadRequest(
            "Conflicting required and forbidden traits found in the following traits keys: "
            + ", ".join(sorted(conflicts))
        )
