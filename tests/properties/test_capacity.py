"""How many more fit, on small odd clouds, against trying every order of claims."""

import dataclasses

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, event, given, note, settings

from placement.candidates.live import loading
from placement.candidates.search import search
from placement.errors import BadRequest
from placement.extensions.capacity.count import Capacity
from placement.extensions.explain.explanation import explain
from tests.endless import endless
from tests.extent import examples
from tests.properties.stage import Stage
from tests.properties.test_explanations import Judge
from tests.properties.twin import SHARING, Ask, Provider, Question, Stock, World
from tests.properties.worlds import AGGREGATES, CLASSES, TRAITS, clouds, questions

QUESTIONS_PER_CLOUD = 6
#: states of a cloud that trying all orders may visit
MOST_STATES = 400


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(tmp_path_factory.mktemp("capacity"))


SETTINGS = settings(
    max_examples=examples(20, 80),
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


@SETTINGS
@given(data=st.data())
def test_as_many_fit_as_can_be_claimed_from_hosts_as_operators_have_them(stage, data):
    cloud = data.draw(fleets())
    stage.show(cloud)
    snapshot = stage.database.read(loading.load)
    for _ in range(QUESTIONS_PER_CLOUD):
        question = data.draw(flavors())
        note(stage.query(question))
        request = Judge(stage, cloud, snapshot, 39).request(question)
        check(snapshot, request, explain(snapshot, request, endless(), relaxations=False))


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
    most, certain = claimed(snapshot, request)
    better = certain and most > fits.count
    event(f"exact {fits.exact}, certain {certain}, {most > 0}, better {better}")
    assert most <= fits.upper
    if certain:
        assert fits.count <= most
        if fits.exact:
            assert fits.count == most


def claimed(snapshot, request):
    """Return how many requests can be claimed one after the other; and whether it is the most."""
    tried = Tried(request)
    return tried.most(snapshot, {}), tried.certain


class Tried:
    def __init__(self, request):
        self.request = request
        self.known = {}
        self.certain = True

    def most(self, snapshot, taken):
        key = frozenset(taken.items())
        if key not in self.known:
            if len(self.known) >= MOST_STATES:
                self.certain = False
                return 0
            self.known[key] = 0
            now = snapshot.using(usage(snapshot, taken))
            ways = {frozenset(way.items()) for way in candidates(now, self.request)}
            for way in ways:
                more = dict(taken)
                for place, amount in way:
                    more[place] = more.get(place, 0) + amount
                self.known[key] = max(self.known[key], 1 + self.most(snapshot, more))
        return self.known[key]


def usage(snapshot, taken):
    used = {}
    for (class_id, slot), amount in taken.items():
        used.setdefault(class_id, {})[slot] = snapshot.used(class_id, slot) + amount
    return used


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
