"""GET /metrics/providers: what exporters of the field serve, of every provider."""

import gc
import subprocess
import threading
import traceback
import weakref

import pytest
import sqlalchemy as sa

from placement.extensions.monitoring import provider_query
from placement.extensions.monitoring.providers import CutOff
from placement.storage.whole_cloud import snapshot_reads
from tests.functional.placement.extensions.monitoring.pages import page, samples
from tests.functional.placement.service import statements
from tests.functional.placement.serving.programs import needed
from tests.functional.placement.small_cloud import NEW, ROOT, expect, fill, holding, stock
from tests.patience import PATIENCE

pytestmark = pytest.mark.spread_over_databases

PATH = "/metrics/providers"
LEAVING = "c0000000-0000-4000-8000-0000000000fe"
PREFIX = provider_query.PREFIX


@pytest.fixture
def filled(counted):
    """Return a service with metrics and the small cloud."""
    fill(counted)
    counted.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    return counted


def shown(service, query=""):
    """Return the values of the page, by name without the prefix and labels."""
    found = samples(page(service, f"{PATH}?{query}"))
    return {(name.removeprefix(PREFIX), labels): value for (name, labels), value in found.items()}


def families(found):
    return {name for name, _ in found}


def test_the_page_says_what_the_api_says(filled):
    expected = {("up", ()): 1}
    providers = filled.get("/resource_providers").json["resource_providers"]
    for provider in providers:
        path = f"/resource_providers/{provider['uuid']}"
        name, generation = provider["name"], provider["generation"]
        info = {
            "hostname": name,
            "uuid": provider["uuid"],
            "parent": provider["parent_provider_uuid"] or "",
            "root": provider["root_provider_uuid"],
        }
        # the label of an empty value isn't told apart from a missing one
        expected["provider_info", tuple(sorted(info.items()))] = 1
        usages = filled.get(f"{path}/usages").json["usages"]
        for class_name, given in filled.get(f"{path}/inventories").json["inventories"].items():
            labels = (("hostname", name), ("resourcetype", class_name))
            expected |= {
                ("resource_total", labels): given["total"],
                ("resource_reserved", labels): given["reserved"],
                ("resource_usage", labels): usages[class_name],
                ("resource_allocation_ratio", labels): given["allocation_ratio"],
                ("resource_generation", labels): generation,
                ("resource_capacity", labels): int(
                    (given["total"] - given["reserved"]) * given["allocation_ratio"]
                ),
            }
    assert shown(filled) == expected


def test_generations_are_right_after_a_claim_that_the_snapshot_took_in(filled):
    filled.get("/allocation_candidates?resources=VCPU:1")
    filled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 2}}) | {"consumer_generation": 1})
    provider = filled.get(f"/resource_providers/{ROOT}").json
    labels = (("hostname", provider["name"]), ("resourcetype", "VCPU"))
    found = shown(filled)
    assert found["resource_generation", labels] == provider["generation"]
    assert (
        found["resource_usage", labels]
        == (filled.get(f"/resource_providers/{ROOT}/usages").json["usages"]["VCPU"])
    )


def test_classes_and_roots_may_be_chosen(filled):
    found = shown(filled, "resource_class=VCPU&families=resource_total")
    assert families(found) == {"up", "resource_total"}
    assert {dict(labels).get("resourcetype") for _, labels in found} == {None, "VCPU"}
    filled.put("/resource_classes/CUSTOM_NONE")
    assert families(shown(filled, "resource_class=CUSTOM_NONE")) == {"up", "provider_info"}
    providers = filled.get("/resource_providers").json["resource_providers"]
    roots = {one["name"] for one in providers if one["parent_provider_uuid"] is None}
    assert len(roots) < len(providers)
    infos = shown(filled, "roots_only=1&families=provider_info")
    assert {dict(labels).get("hostname") for _, labels in infos} == {None, *roots}


def test_traits_are_chosen_by_a_whole_name(filled):
    path = f"/resource_providers/{ROOT}/traits"
    filled.put("/traits/CUSTOM_GOLD_2")
    generation = filled.get(f"/resource_providers/{ROOT}").json["generation"]
    body = {
        "resource_provider_generation": generation,
        "traits": ["CUSTOM_GOLD_2", "HW_CPU_X86_SGX"],
    }
    assert filled.put(path, body).status_code == 200
    name = filled.get(f"/resource_providers/{ROOT}").json["name"]
    for pattern, expected in (
        ("CUSTOM_.*", {"CUSTOM_GOLD_2"}),
        ("CUSTOM_GOLD", set()),
        ("CUSTOM_GOLD_2|HW_.*SGX", {"CUSTOM_GOLD_2", "HW_CPU_X86_SGX"}),
    ):
        found = shown(filled, f"traits={pattern}&families=provider_trait")
        of_root = {
            dict(labels)["trait"] for _, labels in found if dict(labels).get("hostname") == name
        }
        assert (pattern, of_root) == (pattern, expected)
    assert "provider_trait" not in families(shown(filled))


def test_allocations_are_shown_if_they_are_asked_for(filled):
    found = shown(filled, "families=openstack_placement_resource_provider_allocations")
    name = filled.get(f"/resource_providers/{ROOT}").json["name"]
    labels = (("hostname", name), ("resourcetype", "VCPU"), ("uuid", NEW))
    assert found["resource_provider_allocations", labels] == 1


HOSTILE = [
    'quote" and \\backslash',
    'a",resourcetype="VCPU"} 99\nopenstack_placement_up 0',
    "newline\nin\r\nname",
    "tab\tand \x01 control",
    "ünïcödé – 機械",
    "{}",
    "# HELP openstack_placement_up",
]


def test_hostile_names_are_only_values_of_labels(filled):
    for name in HOSTILE:
        made = filled.post("/resource_providers", {"name": name})
        assert made.status_code == 200
        path = f"/resource_providers/{made.json['uuid']}/inventories"
        body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 7}}}
        assert filled.put(path, body).status_code == 200
    found = shown(filled)
    for name in HOSTILE:
        labels = (("hostname", name), ("resourcetype", "VCPU"))
        assert (name, found["resource_total", labels]) == (name, 7)
    assert found["up", ()] == 1
    checked = subprocess.run(
        [needed("promtool", "prometheus"), "check", "metrics"],
        input=page(filled, PATH).data,
        capture_output=True,
    )
    # it would like other names, but finds no fault with the format
    assert b"error while linting" not in checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("families=resource_totals", "There is no family 'resource_totals', only resource_total,"),
        ("resources=VCPU:1", "There is no parameter 'resources', only resource_class,"),
        ("resource_class=VCPU,NOPE", "There is no resource class 'NOPE'."),
        ("roots_only=yes", "roots_only is 0 or 1."),
        ("roots_only=1&roots_only=1", "roots_only is 0 or 1."),
        ("traits=(", "traits: '(' is no regular expression"),
        ("traits=)|(", "traits: ')|(' is no regular expression"),
        (r"traits=(a)\1", "back references and looking around aren't"),
        ("traits=(x{1000}){1000}", "large repetitions"),
        (f"traits={'a' * 1001}", "at most 1000 characters"),
        ("traits=a&traits=b", "traits is one regular expression"),
        ("traits=%ff", None),
    ],
)
def test_a_bad_query_is_told(counted, query, words):
    response = page(counted, f"{PATH}?{query}")
    if words is None:
        assert response.status_code == 200
    else:
        assert (response.status_code, words in response.text) == (400, True), response.text


def test_no_expression_takes_more_than_linear_time():
    asked = provider_query.asked("traits=(a%2B)%2B%24|(a|aa)%2Bb|(.*)*c")
    # an engine that backtracks would not come to an end
    assert not asked.has_trait("a" * 254 + "!")


def test_a_consumer_that_leaves_a_provider_before_its_end_is_still_somewhere(filled, monkeypatch):
    made = expect(filled.post("/resource_providers", {"name": "leaving"}), 200).json
    path = f"/resource_providers/{made['uuid']}"
    expect(filled.put(f"{path}/inventories", stock(0, VCPU=8)), 200)
    expect(filled.put(f"/allocations/{LEAVING}", holding({made["uuid"]: {"VCPU": 1}})), 204)
    providers = filled.running.searching.parts.pages[PATH]
    current = providers._current
    before = used_of_root(filled)
    snapshots = []

    def overtaken():
        snapshots.append(current())
        if len(snapshots) == 1:
            body = holding({ROOT: {"VCPU": 1}}, generation=1)
            expect(filled.put(f"/allocations/{LEAVING}", body), 204)
            expect(filled.delete(path), 204)
        return snapshots[-1]

    monkeypatch.setattr(providers, "_current", overtaken)
    assert used_of_root(filled) == before + 1


def used_of_root(service):
    """Return the VCPUs that are in use on ROOT, as the page says."""
    found = shown(service, "families=resource_usage&resource_class=VCPU")
    labels = (("hostname", "root"), ("resourcetype", "VCPU"))
    return found["resource_usage", labels]


def test_the_number_of_statements_does_not_grow_with_providers(filled):
    def sent():
        with statements(filled.database) as found:
            assert page(filled, PATH).status_code == 200
        return len(found)

    sent()
    before = sent()
    for number in range(20):
        filled.post("/resource_providers", {"name": f"more{number}"})
    filled.get("/allocation_candidates?resources=VCPU:1")
    assert sent() == before


def test_without_the_database_the_page_says_so_and_nothing_else(filled, monkeypatch):
    def refuse():
        raise RuntimeError("the database is away")

    monkeypatch.setattr(filled.running.searching.parts.pages[PATH], "_current", refuse)
    assert shown(filled) == {("up", ()): 0}


def test_a_page_that_fails_is_cut_off_and_the_log_has_no_statement(filled, monkeypatch, caplog):
    def fail(connection, ids):
        connection.execute(sa.text("SELECT 'secret' FROM nothing"))

    monkeypatch.setattr(snapshot_reads, "holders", fail)
    with pytest.raises(CutOff) as ended:
        page(filled, f"{PATH}?families=resource_provider_allocations", buffered=True)
    assert "/metrics/providers failed" in caplog.text
    told = "".join(traceback.format_exception(ended.value))
    assert "secret" not in told + caplog.text


def test_a_page_keeps_no_snapshot_after_it_was_sent(counted):
    shown = counted.running.snapshot
    old = weakref.ref(shown.current())
    assert page(counted, PATH).status_code == 200
    assert page(counted).status_code == 200
    # the next search loads another one
    shown._distrust(shown._held, "audit")
    counted.get("/allocation_candidates?resources=VCPU:1")
    # a thread that read for a page has its answer until it ends, a moment after the page
    for thread in threading.enumerate():
        if thread.name == "monitoring":
            thread.join(PATIENCE)
    gc.collect()
    assert (old(), shown.loads) == (None, {"first use": 1, "audit": 1})
