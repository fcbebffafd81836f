"""All read requests, with the filters of lists."""

from tests.reference.generator.draw import (
    PROJECTS,
    STANDARD_CLASSES,
    STANDARD_TRAITS,
    TYPES,
    USERS,
    Draw,
    query,
)
from tests.reference.script import Request

#: paths below a provider, with their first versions
PARTS = (
    ("", 0),
    ("/inventories", 0),
    ("/usages", 0),
    ("/aggregates", 1),
    ("/traits", 6),
    ("/allocations", 0),
)


def root(draw: Draw) -> Request:
    """GET /"""
    return draw.request("GET", "/", draw.minor())


def one_provider(draw: Draw) -> Request | None:
    """GET /resource_providers/{uuid} and the paths below."""
    uuid = draw.provider()
    if uuid is None:
        return None
    part, since = draw.one(PARTS)
    if draw.chance(0.2):
        uuid, name = draw.slot() or (uuid, "VCPU")
        odd = [draw.resource_class(), "CUSTOM_NONE"]
        part = f"/inventories/{draw.one(odd) if draw.chance(0.2) else name}"
    return draw.request("GET", f"/resource_providers/{uuid}{part}", draw.minor(since))


def one_consumer(draw: Draw) -> Request:
    """GET /allocations/{uuid}"""
    uuid = draw.consumer() or draw.uuid()
    return draw.request("GET", f"/allocations/{uuid}", draw.minor())


def usages(draw: Draw) -> Request:
    """GET /usages"""
    minor = draw.minor(9)
    consumers = list(draw.picture.consumers.values())
    known = draw.one(consumers) if consumers else None
    parameters = [("project_id", known.project if known else draw.one(PROJECTS))]
    if draw.chance(0.4):
        parameters.append(("user_id", known.user if known else draw.one(USERS)))
    if minor >= 38 and draw.chance(0.6):
        kinds = [*TYPES, "all", "unknown", "allfoo", "NOBODYS"]
        parameters.append(("consumer_type", draw.one(kinds)))
    return draw.request("GET", "/usages" + query(parameters), minor)


def names(draw: Draw) -> Request:
    """GET /traits, /traits/{name}, /resource_classes and /resource_classes/{name}"""
    match draw.one(["traits", "traits", "trait", "classes", "class"]):
        case "traits":
            return draw.request("GET", "/traits" + query(_trait_filter(draw)), draw.minor(6))
        case "trait":
            name = "CUSTOM_NO_SUCH" if draw.chance(0.15) else draw.traits(1, least=1)[0]
            return draw.request("GET", f"/traits/{name}", draw.minor(6))
        case "classes":
            return draw.request("GET", "/resource_classes", draw.minor(2))
    name = "CUSTOM_NONE" if draw.chance(0.15) else draw.resource_class()
    return draw.request("GET", f"/resource_classes/{name}", draw.minor(2))


def _trait_filter(draw: Draw) -> list[tuple[str, str]]:
    parameters = []
    if draw.chance(0.7):
        prefix = draw.one(["CUSTOM_", "CUSTOM_A_", "custom_", "HW_CPU_X86_AVX", "%RED", "", "_"])
        listed = ",".join([*draw.traits(3), draw.one(["CUSTOM_NO_SUCH", "", " "])])
        value = draw.one([f"startswith:{prefix}", f"in:{listed}"])
        if draw.chance(0.15):
            value = draw.one(["foo:bar", "nope", "", ":"])
        parameters.append(("name", value))
    if draw.chance(0.5):
        value = draw.one(["true", "false", "True", "FALSE"] * 3 + ["1", ""])
        parameters.append(("associated", value))
    return parameters


def providers(draw: Draw) -> Request:
    """GET /resource_providers with any filters of the microversion."""
    minor = draw.minor(14) if draw.chance(0.7) else draw.minor()
    parameters: list[tuple[str, str]] = []
    rows = draw.picture.providers
    if draw.chance(0.12):
        known = [row.name for row in rows.values()]
        parameters.append(("name", draw.one([*known, "nobody", ""])))
    if draw.chance(0.12):
        parameters.append(("uuid", draw.provider() or draw.uuid()))
    if minor >= 3 and draw.chance(0.35):
        repeats = draw.one([1, 1, 2, 3]) if minor >= 24 else 1
        parameters += [("member_of", member_of(draw, minor)) for _ in range(repeats)]
    if minor >= 4 and draw.chance(0.35):
        parameters.append(("resources", _resources(draw)))
    if minor >= 14 and draw.chance(0.25):
        parameters.append(("in_tree", draw.provider() or draw.uuid()))
    if minor >= 18 and draw.chance(0.45):
        repeats = draw.one([1, 1, 2, 3])
        parameters += [("required", required(draw, minor)) for _ in range(repeats)]
    draw.rng.shuffle(parameters)
    return draw.request("GET", "/resource_providers" + query(parameters), minor)


def member_of(draw: Draw, minor: int) -> str:
    """Return a value of `member_of`."""
    value = draw.aggregates(1, least=1)[0]
    if draw.chance(0.4):
        value = "in:" + ",".join(draw.aggregates(3, least=1))
    if minor >= 32 and draw.chance(0.3):
        value = f"!{value}"
    if draw.chance(0.06):
        odd = [f"{value},{value}", f"in:!{value}", "", "in:", "!", f"!{value}", value.upper()]
        value = draw.one([*odd, value.replace("-", ""), f"{value},", f" {value}", f"!!{value}"])
    return value


def _resources(draw: Draw) -> str:
    parts = []
    for uuid, name in draw.some(list(draw.picture.inventories), 2) or [("", "VCPU")]:
        parts.append(f"{name}:{draw.amount(uuid, name)}")
    if draw.chance(0.1):
        name = draw.one(STANDARD_CLASSES)
        odd = [f"{name}:0", f"{name}:x", name, f"{name}:1:2", "CUSTOM_NONE:1", "", f"{name}: 1 "]
        parts.append(draw.one([*odd, f"{name}:-1", f"{name}:1.0", f"{name}:1_0", f" {name}:1"]))
    return ",".join(parts)


def required(draw: Draw, minor: int) -> str:
    """Return a value of `required`."""
    wanted = draw.traits(2, least=1)
    if minor >= 22:
        wanted = [f"!{name}" if draw.chance(0.3) else name for name in wanted]
    value = ",".join(wanted)
    if minor >= 39 and draw.chance(0.4):
        value = "in:" + ",".join(draw.traits(3, least=1))
    if draw.chance(0.1):
        name = draw.one(STANDARD_TRAITS)
        odd = ["CUSTOM_NO_SUCH", "!CUSTOM_NO_SUCH", "", ",", f"{name},", "!", f"!!{name}"]
        odd += ["NOPE,CUSTOM_NO_SUCH", f"CUSTOM_NO_SUCH,{name},!NOPE", f"in:{name},NOPE"]
        odd += [f" {name} ", f"in:!{name}", "in:", f"in:{name},", f"in:!{name},", f"!{name}"]
        value = draw.one(odd)
    return value
