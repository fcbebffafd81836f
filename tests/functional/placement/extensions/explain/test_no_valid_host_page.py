"""doc/no_valid_host.rst: each failure has the reply that it shows, and its cure gives a host."""

import re
from urllib.parse import quote
from uuid import NAMESPACE_DNS, uuid5

import pytest
import yaml

from tests.page_code import files_of, text_of

pytestmark = pytest.mark.spread_over_databases

PAGE = "no_valid_host.rst"
FAILURES = {name: yaml.safe_load(text) for name, text in files_of(PAGE, "yaml").items()}
EXPLAIN = "/berth/v1/allocation_candidates/explain"
NOT_CLASSES = ("parent", "traits", "aggregates")


def uuid_of(name):
    return str(uuid5(NAMESPACE_DNS, name))


class Cloud:
    """Writes providers as the page has them."""

    def __init__(self, service):
        self._service = service
        self._made = set()
        self._aggregates = {}

    def write(self, providers):
        for name, provider in providers.items():
            self._provider(name, provider)

    def _provider(self, name, provider):
        uuid = uuid_of(name)
        if name not in self._made:
            parent = provider.get("parent")
            body = {"name": name, "uuid": uuid}
            body |= {"parent_provider_uuid": uuid_of(parent)} if parent else {}
            self._service.write("POST", "/resource_providers", body)
            self._made.add(name)
        stock = {key: amounts for key, amounts in provider.items() if key not in NOT_CLASSES}
        inventories = {
            key: amounts if isinstance(amounts, dict) else {"total": amounts}
            for key, amounts in stock.items()
        }
        for key in inventories:
            if key.startswith("CUSTOM_"):
                self._service.write("PUT", f"/resource_classes/{key}")
        if inventories:
            self._put(uuid, "inventories", {"inventories": inventories})
        if "traits" in provider:
            self.make_traits(",".join(provider["traits"]))
            self._put(uuid, "traits", {"traits": provider["traits"]})
        if "aggregates" in provider:
            self._aggregates |= {uuid_of(one): one for one in provider["aggregates"]}
            self._put(uuid, "aggregates", {"aggregates": [*map(uuid_of, provider["aggregates"])]})

    def make_traits(self, text):
        """Create the traits of somebody's own that a text names."""
        for trait in re.findall(r"\bCUSTOM_\w+", text):
            self._service.write("PUT", f"/traits/{trait}")

    def _put(self, uuid, what, body):
        generation = self._service.get(f"/resource_providers/{uuid}").json["generation"]
        body["resource_provider_generation"] = generation
        self._service.write("PUT", f"/resource_providers/{uuid}/{what}", body)

    def sent(self, query):
        """Return a query of the page as it is sent, with uuids of aggregates."""
        for uuid, name in self._aggregates.items():
            query = re.sub(rf"(member_of\w*=){name}\b", rf"\g<1>{uuid}", query)
        return quote(query, safe="=&:,!_")

    def shown(self, text):
        """Return a text of an answer as the page shows it."""
        for uuid, name in self._aggregates.items():
            text = text.replace(uuid, name)
        return text


def test_the_page_has_twelve_failures():
    assert len(FAILURES) == 12


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_its_reply_and_its_cure(name, service):
    failure = FAILURES[name]
    cloud = Cloud(service)
    cloud.write(failure["cloud"])
    cloud.make_traits(",".join(re.findall(r"required\w*=([^&]+)", failure["query"])))
    query = cloud.sent(failure["query"])
    assert not candidates(service, query)

    found = service.get(f"{EXPLAIN}?{query}").json

    assert cloud.shown(found["message"]) == failure["reply"]
    helping = [cloud.shown(one["text"]) for one in found["relaxations"]]
    assert helping == failure.get("helps", [])
    cure = failure["cure"]
    cloud.write(cure.get("cloud", {}))
    assert candidates(service, cloud.sent(cure.get("query", failure["query"])))


def candidates(service, query):
    return service.get(f"/allocation_candidates?{query}").json["allocation_requests"]


def test_the_page_says_which_failures_there_are():
    titles = re.findall(r"^([A-Z].+)\n=+$", text_of(PAGE), re.M)

    assert titles[1:] == list(FAILURES)
