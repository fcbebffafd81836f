"""A list of providers may name more traits and aggregates than a database joins in a statement."""

import pytest

from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import numbered

ROOT = numbered("a", 1)
MANY = 60
TRAITS = [f"CUSTOM_T{number}" for number in range(MANY)]
AGGREGATES = [numbered("b", number) for number in range(MANY)]
CLASSES = [f"CUSTOM_C{number}" for number in range(20)]
#: one has all traits and aggregates, and classes, and the others all but one
NAMES = ("all", "no trait 50", "no aggregate 50", "no class 15")
LISTS = ("/resource_providers", "/berth/v1/provider_trees")


@pytest.fixture
def service(service):
    """Return a service with providers below a root that has nothing."""

    def has(name, kind, values):
        return [value for number, value in enumerate(values) if f"{kind} {number}" not in name]

    providers = {
        numbered("a", 2 + number): {
            "name": name,
            "generation": None,
            "parent_provider_uuid": ROOT,
            "traits": has(name, "trait", TRAITS),
            "aggregates": has(name, "aggregate", AGGREGATES),
            "inventories": {one: {"total": 1} for one in has(name, "class", CLASSES)},
        }
        for number, name in enumerate(NAMES)
    }
    providers[ROOT] = {"name": "root", "generation": None}
    body = {"providers": providers, "create_names": True}
    service.write("PUT", f"/berth/v1/provider_trees/{ROOT}", body)
    return service


def found(service, query):
    answer = service.get(f"/resource_providers?{query}")
    assert answer.status_code == 200, answer.text
    return {one["name"] for one in answer.json["resource_providers"]}


def traits(count):
    return "&".join(f"required=in:{name},{TRAITS[0]}" for name in TRAITS[:count])


def test_each_trait_aggregate_and_class_counts(service):
    required = "required=" + ",".join(TRAITS)
    member_of = "&".join(f"member_of={uuid}" for uuid in AGGREGATES)
    resources = "resources=" + ",".join(f"{name}:1" for name in CLASSES)
    assert found(service, required) == {"all", "no aggregate 50", "no class 15"}
    assert found(service, member_of) == {"all", "no trait 50", "no class 15"}
    assert found(service, resources) == set(NAMES) - {"no class 15"}
    assert found(service, f"{required}&{resources}") == {"all", "no aggregate 50"}
    assert found(service, f"{required}&{resources.replace('C7:1', 'C7:2')}") == set()
    assert found(service, f"{required}&{member_of}") == {"all", "no class 15"}
    assert found(service, traits(MANY)) == set(NAMES)
    assert found(service, f"{required}&member_of=!{AGGREGATES[0]}") == set()
    assert found(service, f"{required}&member_of={numbered('f', 1)}") == set()


@pytest.mark.spread_over_databases
def test_no_set_is_joined_alone(service):
    for path in LISTS:
        questions = []
        for count in (20, MANY):
            with statements(service.database) as sent:
                assert service.get(f"{path}?{traits(count)}").status_code == 200
            questions.append(sum(text.count("SELECT") for text in sent))
        assert questions[1] <= questions[0], questions


@pytest.mark.spread_over_databases
def test_unknown_names_are_told_of_as_with_few_sets(service):
    unknown = "required=!CUSTOM_UNKNOWN"
    answer = service.get(f"/resource_providers?{traits(MANY)}&{unknown}")
    assert answer.status_code == 400
    assert "No such trait(s): CUSTOM_UNKNOWN." in answer.text
    # nobody is left of whom the forbidden trait could be asked
    nobody = "&".join(f"required={name}" for name in TRAITS)
    service.write("DELETE", f"/resource_providers/{numbered('a', 2)}")
    service.write("DELETE", f"/resource_providers/{numbered('a', 4)}")
    service.write("DELETE", f"/resource_providers/{numbered('a', 5)}")
    assert found(service, f"{nobody}&{unknown}") == set()
