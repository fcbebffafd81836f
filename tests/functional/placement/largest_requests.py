"""Requests to each endpoint that name as much, and as entangled things, as a client may."""

from tests.extent import examples
from tests.functional.placement.small_cloud import holding, numbered

#: children of one root, providers below each other, consumers, names in one list
MANY = examples(200, 3_000)
DEEP = examples(60, 999)
#: request groups of one search
GROUPS = examples(30, 1_000)
WIDE_ROOT, DEEP_ROOT, GONE_ROOT = numbered("a", 1), numbered("d", 1), numbered("e", 1)
NEW = numbered("e", 2)
HOLDER = numbered("c", 0)
LONG_NAME = "CUSTOM_" + "A" * 248
CLASSES = [f"CUSTOM_C{n}" for n in range(60)]
TRAITS = [f"CUSTOM_T{n}" for n in range(MANY)]
AGGREGATES = [numbered("b", n) for n in range(MANY)]
CHILDREN = [numbered("a", 2 + n) for n in range(MANY)]
CONSUMERS = [numbered("c", 1 + n) for n in range(MANY)]
_PROVIDER, _NATIVE = "/resource_providers/<uuid>", "/berth/v1"


def tree(root, children, above):
    """Return the body that makes a tree; `above` tells the parent of a child by its number."""
    providers = {root: {"name": root, "generation": None, "aggregates": AGGREGATES}}
    providers |= {
        child: {
            "name": child,
            "generation": None,
            "parent_provider_uuid": above(number),
            "inventories": {
                name: {"total": 10**6} for name in ("VGPU", *CLASSES[: 1 + number % 3])
            },
            "traits": TRAITS[number : number + 3],
        }
        for number, child in enumerate(children)
    }
    # each class and trait that is named below exists
    providers[root]["inventories"] = {name: {"total": 10**6} for name in ("VCPU", *CLASSES)}
    providers[root]["traits"] = TRAITS
    return {"providers": providers, "create_names": True}


def searches():
    """Return queries of many groups that are alike, different, or bound to each other.

    In an ordinary run, each keeps groups apart or not, by turns; in a thorough one, both.
    """
    numbers = range(1, GROUPS + 1)
    alike = "&".join(f"resources{n}=VGPU:1" for n in numbers)
    chain = "&".join(f"same_subtree={n},{n + 1}" for n in numbers[:-1])
    bare = "&".join(f"required{n}={TRAITS[n % 3]}" for n in numbers)
    groups = [
        alike,
        "&".join(f"resources{n}=VGPU:{n}" for n in numbers),
        "&".join(
            f"resources{n}=VGPU:1&required{n}=in:{TRAITS[n % 9]},{TRAITS[0]}" for n in numbers
        ),
        "&".join(f"resources{n}=VGPU:1&member_of{n}={AGGREGATES[n % 9]}" for n in numbers),
        f"{alike}&same_subtree={','.join(map(str, numbers))}",
        f"{alike}&{chain}",
        f"resources=VCPU:1&{bare}&{chain}",
        "resources=" + ",".join(f"{name}:1" for name in CLASSES),
    ]
    policies = ("none", "isolate")
    count = examples(1, 2)
    return [
        f"{one}&group_policy={policies[(number + turn) % 2]}"
        for number, one in enumerate(groups)
        for turn in range(count)
    ]


def lists():
    """Return queries of lists of providers that name much."""
    return [
        "member_of=in:" + ",".join(AGGREGATES),
        "&".join(f"member_of={uuid}" for uuid in AGGREGATES[:GROUPS]),
        "member_of=!in:" + ",".join(AGGREGATES),
        "required=" + ",".join(TRAITS[:GROUPS]),
        "&".join(f"required=in:{TRAITS[n]},{TRAITS[0]}" for n in range(GROUPS)),
        "required=" + ",".join([TRAITS[0]] * MANY),
        "resources=" + ",".join(f"{name}:1" for name in CLASSES),
    ]


def _consumer(uuid, **more):
    return {"uuid": uuid, "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"} | more


def steps(generation):
    """Yield (method, route, its places, query, body) of each request, in their order.

    :param generation: returns the present generation of a provider, and that of a consumer
    """

    def child(number):
        return {"uuid": CHILDREN[number]}

    def of(provider, **more):
        return {"resource_provider_generation": generation(provider)} | more

    for method, route in (("GET", "/"), ("GET", _NATIVE)):
        yield method, route, {}, "", None
    root = {"root_uuid": WIDE_ROOT}
    change = f"{_NATIVE}/provider_trees/<root_uuid>"
    yield "PUT", change, root, "", tree(WIDE_ROOT, CHILDREN, lambda number: WIDE_ROOT)
    deep = [numbered("d", 2 + n) for n in range(DEEP)]
    body = tree(DEEP_ROOT, deep, lambda number: deep[number - 1] if number else DEEP_ROOT)
    yield "PUT", change, {"root_uuid": DEEP_ROOT}, "", body
    gone, place = [numbered("e", 3 + n) for n in range(MANY)], {"uuid": GONE_ROOT}
    at_gone = {"root_uuid": GONE_ROOT}
    yield "PUT", change, at_gone, "", tree(GONE_ROOT, gone, lambda number: GONE_ROOT)
    yield "PUT", change, at_gone, "", {"remove": {uuid: generation(uuid) for uuid in gone}}
    yield "DELETE", f"{_PROVIDER}/inventories", place, "", None
    yield "DELETE", _PROVIDER, place, "", None
    yield "POST", "/resource_providers", {}, "", {"name": "n" * 200, "uuid": NEW}
    yield "PUT", _PROVIDER, {"uuid": NEW}, "", {"name": "m" * 200}

    for number, query in enumerate(searches()):
        yield "GET", "/allocation_candidates", {}, query, None
        yield "GET", "/allocation_candidates", {}, f"{query}&limit=10", None
        yield "GET", f"{_NATIVE}/allocation_candidates/explain", {}, query, None
        yield "GET", f"{_NATIVE}/capacity", {}, query, None
        body = {
            "query": query,
            "consumers": [_consumer(numbered("f", 9 * number + n)) for n in range(9)],
        }
        yield "POST", f"{_NATIVE}/claims", {}, "", body
    # a longer one is refused, as below
    allowed = [query for query in searches() if len(query) <= 65_536]
    changes = {"all": {"classes": {"VCPU": {"allocation_ratio": 2.0}}}}
    changes["add"] = [{"like": DEEP_ROOT, "count": 3}]
    for query in allowed:
        body = {"query": query, "if": changes}
        yield "POST", f"{_NATIVE}/allocation_candidates/explain", {}, "", body
    several = {str(number): {"query": query} for number, query in enumerate(allowed)}
    body = {"requests": several, "by": ["aggregate", "root"], "without": [DEEP_ROOT]}
    yield "POST", f"{_NATIVE}/capacity", {}, "", body
    body = {
        "query": "resources=VCPU:1",
        "consumers": [_consumer(numbered("9", n)) for n in range(MANY)],
    }
    yield "POST", f"{_NATIVE}/claims", {}, "", body
    too_long = "&".join(f"resources{n}=VCPU:1" for n in range(1, 5_000))
    yield "POST", f"{_NATIVE}/claims", {}, "", body | {"query": too_long}
    yield "POST", f"{_NATIVE}/capacity", {}, "", {"requests": {"a": {"query": too_long}}}

    everything = {child_uuid: {"VGPU": 1} for child_uuid in CHILDREN}
    holder = {"consumer_uuid": HOLDER}
    yield "PUT", "/allocations/<consumer_uuid>", holder, "", holding(everything)
    yield "GET", "/allocations/<consumer_uuid>", holder, "", None
    for present in (None, 1):
        held = {uuid: holding({WIDE_ROOT: {"VCPU": 2}}, generation=present) for uuid in CONSUMERS}
        yield "POST", "/allocations", {}, "", held
    body = {"consumers": [HOLDER, *CONSUMERS], "resource_providers": CHILDREN}
    yield "POST", f"{_NATIVE}/allocations/query", {}, "", body
    yield "POST", f"{_NATIVE}/capacity/evacuate", {}, "", {"without": [WIDE_ROOT]}
    yield "POST", f"{_NATIVE}/plans/survives", {}, "", {"each": "root"}
    yield "POST", f"{_NATIVE}/plans/survives", {}, "", {"each": [[WIDE_ROOT]]}
    for query in allowed:
        body = {"query": query, "count": 1_000, "limit": {"moves": 10}}
        yield "POST", f"{_NATIVE}/plans/room", {}, "", body
    body = {
        "query": "resources=VGPU:1",
        "movable": {"only": [HOLDER, *CONSUMERS]},
        "constraints": {"apart": [[HOLDER, *CONSUMERS]], "not_on": {HOLDER: [WIDE_ROOT]}},
        "requests": dict.fromkeys(CONSUMERS, "resources=VCPU:1"),
    }
    yield "POST", f"{_NATIVE}/plans/room", {}, "", body
    yield "POST", f"{_NATIVE}/plans/room", {}, "", {"query": too_long}
    for query in ("", *lists()):
        for route in ("/resource_providers", f"{_NATIVE}/provider_trees"):
            yield "GET", route, {}, query, None
    fields = "fields=inventories,traits,aggregates,usages,allocations,consumers"
    yield "GET", f"{_NATIVE}/provider_trees", {}, fields, None
    uuids = ",".join(CHILDREN)
    yield "GET", f"{_NATIVE}/provider_trees", {}, f"uuid=in:{uuids}", None
    yield "GET", f"{_NATIVE}/changes", {}, "limit=10000&wait=0", None
    for name in ("suspects", "empty_searches", "names"):
        yield "GET", f"{_NATIVE}/{name}", {}, "", None
    yield "GET", "/usages", {}, "project_id=p", None
    for page in ("openapi.json", "openapi.yaml"):
        # without a version, the document is that of all, which openapi/test_document.py reads
        yield "GET", f"{_NATIVE}/{page}", {}, examples("microversion=1.39", ""), None
    for route in ("/metrics", "/metrics/providers"):
        yield "GET", route, {}, "", None

    place = {"uuid": WIDE_ROOT}
    for what in ("", "/inventories", "/usages", "/aggregates", "/allocations", "/traits"):
        yield "GET", f"{_PROVIDER}{what}", place, "", None
    stocks = {name: {"total": 10**6} for name in ("VCPU", "VGPU", *CLASSES)}
    yield "PUT", f"{_PROVIDER}/inventories", child(0), "", of(CHILDREN[0], inventories=stocks)
    stock = of(CHILDREN[1], resource_class="DISK_GB", total=2**31 - 1)
    yield "POST", f"{_PROVIDER}/inventories", child(1), "", stock
    one = f"{_PROVIDER}/inventories/<resource_class>"
    disk = child(1) | {"resource_class": "DISK_GB"}
    yield "GET", one, disk, "", None
    yield "PUT", one, disk, "", of(CHILDREN[1], total=7)
    yield "DELETE", one, disk, "", None
    yield "PUT", f"{_PROVIDER}/traits", child(2), "", of(CHILDREN[2], traits=TRAITS)
    yield "DELETE", f"{_PROVIDER}/traits", child(2), "", None
    aggregates = of(CHILDREN[2], aggregates=AGGREGATES)
    yield "PUT", f"{_PROVIDER}/aggregates", child(2), "", aggregates
    yield "GET", "/traits", {}, "name=in:" + ",".join(TRAITS), None
    for method in ("PUT", "GET", "DELETE"):
        yield method, "/traits/<name>", {"name": LONG_NAME}, "", None
    yield "GET", "/resource_classes", {}, "", None
    yield "POST", "/resource_classes", {}, "", {"name": LONG_NAME}
    for method in ("PUT", "GET", "DELETE"):
        yield method, "/resource_classes/<name>", {"name": LONG_NAME}, "", None

    moving = {uuid: holding({DEEP_ROOT: {"VCPU": 1}}, generation=2) for uuid in CONSUMERS}
    body = {"inventories": {WIDE_ROOT: of(WIDE_ROOT, inventories=stocks)}, "allocations": moving}
    yield "POST", "/reshaper", {}, "", body
    yield "DELETE", "/allocations/<consumer_uuid>", holder, "", None
