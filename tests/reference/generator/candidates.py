"""GET /allocation_candidates."""

from tests.reference.generator.draw import STANDARD_CLASSES, Draw, query
from tests.reference.generator.reading import member_of, required
from tests.reference.script import Request

SUFFIXES = ("1", "2", "9")
ANY_SUFFIXES = ("1", "_A", "-", "x" * 64)
#: rarely valid
ODD = (
    *(("resources", ""), ("resources", "VCPU"), ("resources", "CUSTOM_NONE:1"), ("limit", "0")),
    *(("limit", "x"), ("group_policy", "other"), ("required", "!"), ("required", "CUSTOM_NONE")),
    *(("resources0", "VCPU:1"), ("resources_Y", "VCPU:1"), ("resources" + "y" * 65, "VCPU:1")),
    *(("same_subtree", ""), ("same_subtree", "1,7"), ("same_subtree", "1,,2"), ("in_tree", "x")),
    *(("root_required", "in:A"), ("root_required", ""), ("root_required", "CUSTOM_NONE")),
    *(("required1", "CUSTOM_NONE"), ("member_of1", "x"), ("in_tree1", "x"), ("bogus", "1")),
    *(
        ("member_of", "in:"),
        ("required", "HW_CPU_X86_AVX,!HW_CPU_X86_AVX"),
        ("Resources", "VCPU:1"),
    ),
    *(("resources", "VCPU:1,VCPU:2"), ("resources", "VCPU: 1"), ("resources", "VCPU:1_0")),
    *(("limit", "9" * 30), ("limit", "1000\n"), ("resources", "VCPU:0"), ("resources1", "VCPU:x")),
)


def search(draw: Draw) -> Request:
    """Search candidates for up to three groups, with any parameters of the microversion."""
    minor = draw.minor(10)
    parameters = _group(draw, minor, "") if draw.chance(0.75) or minor < 25 else []
    suffixes: list[str] = []
    if minor >= 25 and (not parameters or draw.chance(0.45)):
        suffixes = draw.some(SUFFIXES if minor < 33 else ANY_SUFFIXES, 2, least=1)
        for suffix in suffixes:
            parameters += _group(draw, minor, suffix)
    if len(suffixes) > 1 or (minor >= 25 and draw.chance(0.1)):
        parameters.append(("group_policy", draw.one(["none", "none", "isolate"])))
    if minor >= 16 and draw.chance(0.2):
        parameters.append(("limit", draw.one(["1", "2", "3", "1000"])))
    if minor >= 35 and draw.chance(0.12):
        names = draw.traits(2, least=1)
        value = ",".join(f"!{name}" if draw.chance(0.4) else name for name in names)
        parameters.append(("root_required", value))
    if minor >= 36 and suffixes and draw.chance(0.3):
        parameters.append(("same_subtree", ",".join(suffixes)))
    if draw.chance(0.08):
        parameters.append(draw.one(ODD))
    if draw.chance(0.3):
        draw.rng.shuffle(parameters)
    return draw.request("GET", "/allocation_candidates" + query(parameters), minor)


def _group(draw: Draw, minor: int, suffix: str) -> list[tuple[str, str]]:
    parameters = []
    if minor < 36 or not suffix or draw.chance(0.85):
        parameters.append((f"resources{suffix}", _resources(draw)))
    if minor >= 17 and draw.chance(0.25):
        parameters.append((f"required{suffix}", required(draw, minor)))
    if minor >= 21 and draw.chance(0.2):
        parameters.append((f"member_of{suffix}", member_of(draw, minor)))
    if minor >= 31 and draw.chance(0.15):
        parameters.append((f"in_tree{suffix}", draw.provider() or draw.uuid()))
    return parameters


def _resources(draw: Draw) -> str:
    slots = draw.some(list(draw.picture.inventories), 2, least=1)
    if slots and draw.chance(0.7):
        # amounts that fit into one tree
        root = draw.root(slots[0][0])
        near = [slot for slot in draw.picture.inventories if draw.root(slot[0]) == root]
        slots = draw.some(near, 2, least=1)
    asked = {name: min(draw.amount(uuid, name), draw.number(1, 8)) for uuid, name in slots}
    if not asked or draw.chance(0.1):
        asked[draw.one(STANDARD_CLASSES)] = 1
    return ",".join(f"{name}:{amount}" for name, amount in asked.items())
