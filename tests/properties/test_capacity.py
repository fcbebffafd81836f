"""How many more fit, on small odd clouds, against the exact answer of an integer program."""

import dataclasses

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, note, settings

from placement.candidates.cloud.free_amounts import FreeAmounts
from placement.candidates.live import loading
from placement.candidates.search import search
from placement.errors import BadRequest
from placement.extensions.capacity.count import Capacity
from placement.extensions.explain.explanation import explain
from tests.endless import endless
from tests.extent import examples
from tests.properties.stage import Stage, sqlite_in
from tests.properties.test_explanations import Judge
from tests.properties.twin import SHARING, Ask, Provider, Question, Stock, World
from tests.properties.worlds import AGGREGATES, CLASSES, TRAITS, clouds, questions

QUESTIONS_PER_CLOUD = 6


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(sqlite_in(tmp_path_factory.mktemp("capacity")))


SETTINGS = settings(
    max_examples=examples(8, 80),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@SETTINGS
@given(data=st.data())
def test_as_many_fit_as_can_be_claimed(stage, data):
    cloud = data.draw(clouds())
    stage.show(cloud)
    snapshot = stage.database.read(loading.load)
    for _ in range(QUESTIONS_PER_CLOUD):
        version, question = data.draw(questions(cloud))
        note(f"1.{version} {stage.query(question)}")
        request = Judge(stage, cloud, snapshot, version).request(question)
        request = dataclasses.replace(request, limit=None)
        try:
            explained = explain(snapshot, request, endless(), relaxations=False)
        except BadRequest:
            with pytest.raises(BadRequest):
                Capacity(snapshot, request, endless(), endless(), endless())
            continue
        check(snapshot, request, explained)


@pytest.mark.parametrize("kind", ["hosts as operators have them", "unlike groups on odd cells"])
@SETTINGS
@given(data=st.data())
def test_as_many_fit_as_can_be_claimed_from(stage, kind, data):
    drawn, asked = (cells, unlike_groups) if kind.startswith("unlike") else (fleets, flavors)
    cloud = data.draw(drawn())
    stage.show(cloud)
    snapshot = stage.database.read(loading.load)
    for _ in range(QUESTIONS_PER_CLOUD):
        question = data.draw(asked())
        note(stage.query(question))
        request = Judge(stage, cloud, snapshot, 39).request(question)
        check(snapshot, request, explain(snapshot, request, endless(), relaxations=False))


def test_one_cell_holds_unlike_groups_of_different_requests(stage):
    """The cell with 3 VCPU and 5 MEMORY_MB serves A for one request, and B for another."""
    providers = [Provider("host", None, frozenset(), frozenset(), {})]
    for number, (cpus, memory) in enumerate([(3, 5), (4, 8), (7, 5)]):
        stock = {
            "VCPU": Stock(total=cpus, max_unit=1000, used=0),
            "MEMORY_MB": Stock(total=memory, max_unit=1000, used=0),
        }
        providers.append(Provider(f"cell{number}", "host", frozenset(), frozenset(), stock))
    cloud = World(providers, frozenset((*TRAITS, SHARING)), frozenset(CLASSES))
    stage.show(cloud)
    snapshot = stage.database.read(loading.load)
    groups = Ask("A", {"VCPU": 2, "MEMORY_MB": 1}), Ask("B", {"VCPU": 1, "MEMORY_MB": 3})
    request = Judge(stage, cloud, snapshot, 39).request(Question(groups, "isolate"))
    fits = Capacity(snapshot, request, endless(), endless(), endless()).fits()
    assert fits.count == fits.upper == 4


@st.composite
def cells(draw):
    """Draw a host whose cells have several classes, in amounts that don't go together."""
    names = draw(st.sampled_from([CLASSES[:2], CLASSES]))
    providers = [Provider("host", None, frozenset(), frozenset(), {})]
    for place in range(draw(st.integers(2, 4))):
        stock = {name: Stock(draw(st.integers(1, 9)), max_unit=1000, used=0) for name in names}
        providers.append(Provider(f"cell{place}", "host", frozenset(), frozenset(), stock))
    return World(providers, frozenset((*TRAITS, SHARING)), frozenset(CLASSES))


@st.composite
def unlike_groups(draw):
    """Draw two or three groups of several classes in unlike amounts, perhaps an unsuffixed one."""
    some = st.dictionaries(st.sampled_from(CLASSES[:2]), st.integers(1, 4), min_size=2)
    asks = [Ask(suffix, draw(some)) for suffix in draw(st.sampled_from(["12", "12", "123"]))]
    if draw(st.integers(0, 3)) == 0:
        asks.append(Ask("", {draw(st.sampled_from(CLASSES)): 1}))
    return Question(tuple(asks), draw(st.sampled_from(["none", "isolate", "isolate"])))


def amounts(most):
    return st.builds(
        Stock,
        total=st.integers(1, most),
        max_unit=st.sampled_from([1, 2, 1000]),
        used=st.sampled_from([0, 0, 1]),
    )


@st.composite
def fleets(draw):
    """Draw hosts with NUMA nodes and devices, and disks that they share."""
    providers = []
    for number in range(draw(st.integers(1, 2))):
        host = f"host{number}"
        kind = draw(st.sampled_from(["flat", "numa", "numa", "devices"]))
        racks = draw(st.frozensets(st.sampled_from(AGGREGATES), max_size=2))
        own = {"MEMORY_MB": draw(amounts(6))}
        if draw(st.integers(0, 2)) == 0:
            own["DISK_GB"] = draw(amounts(4))
        if kind == "flat" or (kind == "devices" and draw(st.booleans())):
            own["VCPU"] = draw(amounts(5))
        if kind == "numa" and draw(st.integers(0, 3)) == 0:
            del own["MEMORY_MB"]
        providers.append(Provider(host, None, racks, draw(traits()), own))
        if kind == "flat":
            continue
        for place in range(draw(st.integers(1, 2 if kind == "numa" else 3))):
            node = f"{host}node{place}"
            stock = {"VCPU": draw(amounts(4))} if kind == "numa" else {}
            if kind == "numa" and "MEMORY_MB" not in own:
                stock["MEMORY_MB"] = draw(amounts(5))
            if kind == "devices":
                stock["DISK_GB"] = draw(amounts(3))
            providers.append(Provider(node, host, frozenset(), draw(traits()), stock))
            for device in range(draw(st.integers(0, 2)) if kind == "numa" else 0):
                stock = {"DISK_GB": draw(amounts(2))}
                providers.append(
                    Provider(f"{node}d{device}", node, frozenset(), draw(traits()), stock)
                )
    for number in range(draw(st.integers(0, 2))):
        racks = draw(st.frozensets(st.sampled_from(AGGREGATES), min_size=1, max_size=2))
        stock = {"DISK_GB": draw(amounts(4))}
        providers.append(Provider(f"disk{number}", None, racks, frozenset([SHARING]), stock))
    return World(providers, frozenset((*TRAITS, SHARING)), frozenset(CLASSES))


def traits():
    return st.sampled_from([frozenset()] * 3 + [frozenset(["CUSTOM_A"])])


@st.composite
def flavors(draw):
    """Draw what operators ask such hosts for."""
    some = st.integers(1, 2)
    cpus, disks = {"VCPU": draw(some)}, {"DISK_GB": draw(some)}
    trait = draw(st.sampled_from([()] * 4 + [(frozenset(["CUSTOM_A"]),)]))
    policy = draw(st.sampled_from(["none", "isolate"]))
    shape = draw(st.sampled_from(["plain", "nodes", "unlike", "devices", "beside", "near", "all"]))
    if shape == "plain":
        asks = [Ask("", {**cpus, "MEMORY_MB": draw(some), **disks}, trait)]
        return Question(tuple(asks))
    if shape == "nodes":
        asks = [Ask("1", cpus, trait), Ask("2", cpus, trait), Ask("", {"MEMORY_MB": draw(some)})]
        return Question(tuple(asks), policy)
    if shape == "unlike":
        return Question((Ask("1", cpus, trait), Ask("2", {"VCPU": draw(some)})), policy)
    if shape == "beside":
        asks = [Ask("1", disks), Ask("2", disks), Ask("", {"DISK_GB": draw(some)}, trait)]
        return Question(tuple(asks), "isolate")
    if shape == "devices":
        count = draw(st.integers(1, 3))
        asks = [Ask(str(number), disks, trait) for number in range(1, count + 1)]
        if draw(st.booleans()):
            asks.append(Ask("", {"MEMORY_MB": draw(some), **draw(st.sampled_from([cpus, disks]))}))
        return Question(tuple(asks), policy)
    asks = [Ask("1", cpus, trait), Ask("2", disks)]
    if shape == "all":
        asks += [Ask("3", disks), Ask("", {"MEMORY_MB": draw(some)})]
    subtrees = draw(st.sampled_from([(frozenset("12"),), (frozenset("12"), frozenset("13"))]))
    return Question(tuple(asks), policy, subtrees=subtrees if shape == "all" else subtrees[:1])


def check(snapshot, request, explained):
    capacity = Capacity(snapshot, request, endless(), endless(), endless())
    fits = capacity.fits()
    note(f"{fits}")
    assert fits.count <= fits.upper
    assert sum(fits.limited_by.values()) == fits.trees
    if fits.exact:
        assert fits.trees == explained.left
    most = most_claimed(snapshot, request)
    event(f"exact {fits.exact}, {most > 0}, better {most > fits.count}")
    assert fits.count <= most <= fits.upper


def most_claimed(snapshot, request):
    """Return how many requests can be claimed one after the other at most, by an integer program.

    Its variables say how often each candidate is claimed. No claim makes room, so the candidates of
    today are all there ever are.
    """
    ways = [*{frozenset(way.items()): way for way in candidates(snapshot, request)}.values()]
    if not ways:
        return 0
    places = sorted({place for way in ways for place in way})
    taken = np.array([[way.get(place, 0) for way in ways] for place in places])
    free = FreeAmounts(snapshot)
    room = [int(free.of(class_id, np.array([slot]))[0]) for class_id, slot in places]
    # imported here: it takes as long as several tests, and each worker collects all of them
    from scipy.optimize import Bounds, LinearConstraint, milp

    solved = milp(
        -np.ones(len(ways)),
        constraints=LinearConstraint(taken, ub=room),
        integrality=np.ones(len(ways)),
        bounds=Bounds(lb=0),
    )
    assert solved.success, solved.message
    return round(-solved.fun)


def candidates(snapshot, request):
    """Yield what each candidate takes: amounts by class id and slot."""
    found = search(snapshot, request, endless())
    for batch in found.batches:
        for number in range(len(batch.family)):
            slots = batch.family.slots(number)
            taken = {}
            for variable, local in zip(found.shape.variables, batch.solution, strict=True):
                for class_id, amount in variable.demand:
                    place = class_id, slots[local]
                    taken[place] = taken.get(place, 0) + amount
            yield taken
