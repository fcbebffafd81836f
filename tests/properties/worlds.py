"""Hypothesis strategies: small odd clouds, and questions about them."""

from hypothesis import strategies as st

from tests.properties.twin import SHARING, Ask, Provider, Question, Stock, World

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
TRAITS = ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C")
UNKNOWN_TRAIT = "CUSTOM_NOBODY_MADE_IT"
UNKNOWN_CLASS = "CUSTOM_NO_CLASS"
AGGREGATES = ("red", "green", "blue")
UNKNOWN_AGGREGATE = "nobody"
SUFFIXES = ("1", "2", "3")
DEEPEST = 4


def stocks():
    """Mostly plain inventories, some with every oddity there is."""
    plain = st.builds(Stock, total=st.integers(1, 6), used=st.sampled_from([0, 0, 0, 1, 2, 7]))
    odd = st.builds(
        Stock,
        total=st.integers(1, 8),
        reserved=st.sampled_from([0, 0, 1, 8]),
        min_unit=st.sampled_from([1, 1, 2]),
        max_unit=st.sampled_from([1, 2, 3, 1000]),
        step_size=st.sampled_from([1, 1, 2]),
        allocation_ratio=st.sampled_from([1.0, 1.5, 0.29, 16.0]),
        used=st.sampled_from([0, 0, 1, 2, 5]),
    )
    return st.one_of(plain, plain, odd)


def some_of(names, most=None):
    """Draw a small set of names."""
    return st.frozensets(st.sampled_from(names), max_size=most)


@st.composite
def clouds(draw, most=7):
    """Draw a World of up to so many providers, in trees of up to DEEPEST levels."""
    providers, depth = [], {}
    for number in range(draw(st.integers(1, most))):
        name = f"p{number}"
        parents = [p.name for p in providers if depth[p.name] < DEEPEST]
        parent = draw(st.sampled_from([None, *parents]))
        depth[name] = 1 if parent is None else depth[parent] + 1
        traits = draw(some_of(TRAITS, 2))
        if draw(st.integers(0, 3)) == 0:
            traits |= {SHARING}
        providers.append(
            Provider(
                name,
                parent,
                draw(some_of(AGGREGATES, 2)),
                traits,
                draw(st.dictionaries(st.sampled_from(CLASSES), stocks(), max_size=3)),
            )
        )
    return World(providers, frozenset((*TRAITS, SHARING)), frozenset(CLASSES))


def trait_names():
    return st.sampled_from((*TRAITS, *TRAITS, *TRAITS, UNKNOWN_TRAIT))


@st.composite
def asks(draw, suffix, version, providers, resourceless=False):
    """Draw a group that the version can express."""
    rare = st.integers(0, 4).map(lambda n: n == 0)
    resources = {}
    if not resourceless:
        names = draw(st.lists(st.sampled_from(CLASSES), min_size=1, max_size=3, unique=True))
        if draw(st.integers(0, 30)) == 0:
            names.append(UNKNOWN_CLASS)
        resources = {name: draw(st.integers(1, 3)) for name in names}
    required, forbidden, member_of, not_member_of, in_tree = [], frozenset(), [], frozenset(), None
    if version >= 17 and (resourceless or draw(rare)):
        required.append(frozenset([draw(trait_names())]))
        if version >= 39 and draw(rare):
            required.append(draw(st.frozensets(trait_names(), min_size=1, max_size=2)))
    if version >= 22 and draw(rare):
        forbidden = frozenset([draw(trait_names())])
    aggregates = st.sampled_from((*AGGREGATES, UNKNOWN_AGGREGATE))
    if version >= 21 and draw(rare):
        most = 2 if version >= 24 else 1
        member_of = draw(
            st.lists(st.frozensets(aggregates, min_size=1, max_size=2), min_size=1, max_size=most)
        )
    if version >= 32 and draw(rare):
        not_member_of = draw(st.frozensets(aggregates, min_size=1, max_size=2))
    if version >= 31 and draw(rare):
        in_tree = draw(st.sampled_from([*providers, "nobody"]))
    # the same set twice says nothing more; a set that is forbidden altogether is another error
    required = [some for some in dict.fromkeys(required) if not some <= forbidden]
    return Ask(
        suffix, resources, tuple(required), forbidden, tuple(member_of), not_member_of, in_tree
    )


@st.composite
def questions(draw, cloud):
    """(minor version, Question): everything the version can express."""
    version = draw(st.sampled_from([39, 39, 39, 36, *range(10, 40)]))
    providers = list(cloud.providers)
    suffixes = []
    if version >= 25:
        suffixes = draw(st.lists(st.sampled_from(SUFFIXES), max_size=3, unique=True))
    if not suffixes or draw(st.booleans()):
        suffixes.insert(draw(st.integers(0, len(suffixes))), "")
    suffixed = [suffix for suffix in suffixes if suffix]
    subtrees = []
    if version >= 36 and suffixed and draw(st.booleans()):
        subtrees = draw(
            st.lists(st.frozensets(st.sampled_from(suffixed), min_size=1), min_size=1, max_size=2)
        )
    named = frozenset().union(*subtrees)
    full = draw(st.sampled_from([s for s in suffixes]))
    groups = []
    for suffix in suffixes:
        bare = suffix in named and suffix != full and draw(st.booleans())
        groups.append(draw(asks(suffix, version, providers, bare)))
    required, forbidden = frozenset(), frozenset()
    if version >= 35 and draw(st.integers(0, 5)) == 0:
        required = frozenset(draw(st.lists(trait_names(), max_size=1)))
        forbidden = frozenset(draw(st.lists(trait_names(), max_size=1))) - required
    policies = ["none", "isolate"] if len(suffixed) > 1 else [None, "none", "isolate"]
    return version, Question(
        tuple(groups),
        draw(st.sampled_from(policies)) if version >= 25 else None,
        required,
        forbidden,
        tuple(subtrees),
        draw(st.sampled_from([None, None, 1, 2, 5])) if version >= 16 else None,
    )
