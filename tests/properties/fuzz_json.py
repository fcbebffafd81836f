"""JSON as clients may send it: nearly right bodies, and values no schema thought of."""

import json

import hypothesis.strategies as st

from tests.functional.placement import small_cloud
from tests.functional.placement.small_cloud import numbered

AGGREGATE = numbered("b", 1)
PROVIDERS = [small_cloud.ROOT, small_cloud.CHILD, small_cloud.EMPTY, small_cloud.UNKNOWN]
CONSUMERS = [small_cloud.HOLDER, small_cloud.OTHER_HOLDER, small_cloud.NEW]
GENERATIONS = {
    small_cloud.ROOT: 5,
    small_cloud.CHILD: 2,
    small_cloud.EMPTY: 0,
    small_cloud.HOLDER: 2,
    small_cloud.OTHER_HOLDER: 1,
    small_cloud.NEW: None,
}
UUIDS = [*PROVIDERS, *CONSUMERS, AGGREGATE]
CLASSES = ["VCPU", "DISK_GB", "VGPU", "CUSTOM_A", "CUSTOM_UNUSED", "CUSTOM_NEW", "NOPE"]
TRAITS = ["CUSTOM_T", "HW_CPU_X86_VMX", "CUSTOM_NEW_TRAIT", "NOPE"]
#: strings whose meaning the pattern of a schema fixes
BY_PATTERN = {
    "^[A-Z0-9_]+$": CLASSES,
    "^CUSTOM_[A-Z0-9_]+$": ["CUSTOM_A", "CUSTOM_NEW", "CUSTOM_UNUSED"],
    "[a-zA-Z0-9_-]{1,64}": ["_group", "1", ""],
}
#: what the cloud knows of these
BY_NAME = {
    "resource_provider_generation": [5, 2, 0, 1],
    "consumer_generation": [1, 2, None],
    "traits": [[], ["CUSTOM_T"], ["HW_CPU_X86_VMX", "CUSTOM_T"], TRAITS],
}
WORDS = ["p", "u", "root", "another name", *TRAITS]
SMALL_NUMBERS = [0, 1, 2, 3, 4, 8]
NUMBERS = [-1, 0, 100, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30]


class Literal(str):
    """A piece of JSON text that stands for itself."""


ODD_NUMBERS = [
    *("NaN", "Infinity", "-Infinity", "-0", "-0.0", "1e400", "-1e400", "1e-400", "1E5", "4.0"),
    *(
        "2147483647.0",
        "0.1",
        "3.40282e38",
        "-1e308",
        "9" * 19,
        "9" * 400,
        "9" * 4301,
        "-" + "9" * 25,
    ),
]
ODD_TEXTS = [
    *(
        '"\\ud800"',
        '"\\udfff\\ud800"',
        '"\\ud83d\\ude00"',
        '"\\u0000"',
        '"VCPU\\u0000"',
        '"VCPU\\n"',
    ),
    *(
        '"\\u2028"',
        '"<b>VCPU</b>"',
        '"{0.__class__}"',
        '"%s%n"',
        '"\\r\\nX: y"',
        '""',
        '" "',
        '"İ"',
    ),
    f'"{"A" * 300}"',
]
ODD = [Literal(text) for text in ODD_NUMBERS + ODD_TEXTS] + [
    *(None, True, False, 0.5, [], {}, [[]], {"": ""}, [None], "text", -(2**63), 10**20),
    Literal("[" * 60 + "]" * 60),
    Literal('{"a":' * 60 + "1" + "}" * 60),
]


def likely(usual, odd, one_in):
    """Draw from the first strategy, and sometimes from the second."""
    # the middle, because the ends of a range are drawn more often than the rest
    rare = one_in // 2 + 1
    return st.integers(1, one_in).flatmap(lambda roll: odd if roll == rare else usual)


def fitting(schema):
    """Values that the schema takes, mostly; with the names and numbers of the cloud in them."""
    if "anyOf" in schema:
        return st.one_of(*(fitting(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of(*(_KINDS[kind](schema) for kind in kinds))


def _text(schema):
    if schema.get("format") == "uuid":
        return st.sampled_from(UUIDS)
    return st.sampled_from(BY_PATTERN.get(schema.get("pattern"), WORDS))


def _integer(schema):
    low, high = schema.get("minimum", -1), schema.get("maximum", 10**40)
    small, others = (
        # a range may be so narrow that none of these is in it
        st.sampled_from([number for number in numbers if low <= number <= high] or [low, high])
        for numbers in (SMALL_NUMBERS, NUMBERS)
    )
    return likely(small, others, 6)


def _array(schema):
    unique = schema.get("uniqueItems", False)
    return st.lists(
        fitting(schema["items"]), min_size=schema.get("minItems", 0), max_size=3, unique=unique
    )


def _uuids_of(schema):
    """Keys for objects of this kind: of consumers, or else of providers."""
    known = CONSUMERS if "project_id" in schema.get("properties", ()) else PROVIDERS
    return [*known, known[0].upper(), "-" * 36]


@st.composite
def _object(draw, schema):
    required = schema.get("required", [])
    value = {}
    for name, inner in schema.get("properties", {}).items():
        if name in required or draw(st.booleans()):
            usual = st.sampled_from(BY_NAME[name]) if name in BY_NAME else fitting(inner)
            value[name] = draw(likely(usual, fitting(inner), 6))
    for pattern, inner in schema.get("patternProperties", {}).items():
        keys = st.lists(
            st.sampled_from(BY_PATTERN.get(pattern) or _uuids_of(inner)),
            min_size=schema.get("minProperties", 0),
            max_size=3,
            unique=True,
        )
        value |= {key: draw(_at_generation(key, draw(fitting(inner)))) for key in draw(keys)}
    return value


@st.composite
def _at_generation(draw, uuid, value):
    """Draw a body for a provider or consumer, in most cases with its current generation."""
    for name in ("resource_provider_generation", "consumer_generation"):
        if uuid in GENERATIONS and isinstance(value, dict) and name in value:
            true = st.just(GENERATIONS[uuid])
            value = value | {name: draw(likely(true, st.just(value[name]), 5))}
    return value


_KINDS = {
    "string": _text,
    "integer": _integer,
    "number": lambda schema: st.sampled_from([0.5, 1, 1.0, 16, 0, -1, 3.40282e38]),
    "array": _array,
    "object": _object,
    "null": lambda schema: st.none(),
    "boolean": lambda schema: st.booleans(),
}


@st.composite
def spoiled(draw, value):
    """Return the value with a part replaced, dropped, added or repeated."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        name = draw(st.sampled_from(sorted(value)))
        return value | {name: draw(spoiled(value[name]))}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], draw(spoiled(value[place])), *value[place + 1 :]]
    if isinstance(value, dict):
        return draw(_spoiled_object(value))
    return draw(st.sampled_from(ODD))


@st.composite
def _spoiled_object(draw, value):
    how = draw(st.sampled_from(["replace", "drop", "add", "twice"]))
    if how == "replace" or not (value or how == "add"):
        return draw(st.sampled_from(ODD))
    if how == "add":
        return value | {draw(st.sampled_from(ODD_KEYS)): draw(st.sampled_from(ODD))}
    name = draw(st.sampled_from(sorted(value)))
    if how == "drop":
        return {key: inner for key, inner in value.items() if key != name}
    again = f"{json.dumps(name)}: {written(draw(st.sampled_from(ODD)))}"
    return Literal(f"{written(value)[:-1]}, {again}}}")


ODD_KEYS = [
    "",
    "x",
    "uuid",
    "VCPU",
    "vcpu",
    "VCPU\n",
    "CUSTOM_\u0130",
    "\x00",
    small_cloud.EMPTY,
    "a" * 300,
]


def written(value):
    """Return the JSON text of a value that may contain literal JSON."""
    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value)


@st.composite
def damaged(draw, text):
    """Bytes that were that text once."""
    how = draw(st.sampled_from(["cut", "mark", "byte", "utf-16", "more", "nothing", "noise"]))
    data = text.encode()
    place = draw(st.integers(0, len(data)))
    return {
        "cut": data[:place],
        "mark": b"\xef\xbb\xbf" + data,
        "byte": data[:place]
        + draw(st.sampled_from([b"\xff", b"\xc3", b"\x00", b"\\"]))
        + data[place:],
        "utf-16": text.encode("utf-16"),
        "more": data + b" x",
        "nothing": b" \n",
        "noise": draw(st.binary(max_size=20)),
    }[how]
