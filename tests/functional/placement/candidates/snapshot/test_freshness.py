"""The snapshot of one process after every kind of write."""

import pytest

from placement.candidates.live import apply_changes as advancing
from placement.candidates.live.live_snapshot import LiveSnapshot
from tests.functional.placement.candidates.snapshot.comparing import HOST, assert_fresh, picture
from tests.functional.placement.candidates.snapshot.writes import (
    WRITES,
    claim_more_and_less,
    delete_and_make_again,
    put,
    reparent,
)
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.spread_over_databases


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_after_this_write_the_snapshot_equals_one_loaded_anew(
    write, service, cloud, live, database
):
    live.current()

    write(service, cloud)

    assert_fresh(live, database)
    assert live.loads == {"first use": 1}


def test_all_writes_after_each_other_come_out_right_as_well(service, live, database):
    live.current()
    for write in WRITES:
        cloud = Cloud(service).build([{**HOST, "name": f"host of {write.__name__}"}])
        cloud.uuids["host"] = cloud.uuids[f"host of {write.__name__}"]
        for name in ("a", "b", "c", "child", "gone", "other"):
            rename_away(service, name)

        write(service, cloud)

        assert_fresh(live, database)


def rename_away(service, name):
    found = service.write("GET", f"/resource_providers?name={name}")["resource_providers"]
    for provider in found:
        body = {"name": f"{name} {provider['uuid']}"}
        put(service, f"/resource_providers/{provider['uuid']}", body, "1.13")


def test_nothing_is_loaded_when_nothing_happened(cloud, live):
    first = live.current()

    assert live.current() is first


def test_an_older_snapshot_does_not_change(service, cloud, live):
    old = live.current()
    before = picture(old)

    for write in (claim_more_and_less, delete_and_make_again, reparent):
        write(service, cloud)
        live.current()

    assert picture(old) == before


def test_a_snapshot_keeps_its_lineage_until_all_is_loaded_anew(service, cloud, live, monkeypatch):
    first = live.current()
    claim_more_and_less(service, cloud)
    changed = live.current()
    assert changed is not first
    assert changed.lineage == first.lineage

    monkeypatch.setattr(advancing, "_FEW", 1)
    cloud.build([{"name": "x"}, {"name": "y"}, {"name": "z"}])
    assert live.current().lineage != first.lineage


def test_a_new_process_starts_from_the_tables(service, cloud, database):
    claim_more_and_less(service, cloud)

    restarted = LiveSnapshot(database)

    assert_fresh(restarted, database)


def test_after_a_failure_with_half_of_the_news_taken_in_all_is_loaded(
    service, cloud, live, database, monkeypatch
):
    live.current()
    delete_and_make_again(service, cloud)

    def fail(*arguments):
        raise RuntimeError("the news are lost")

    with monkeypatch.context() as patch:
        patch.setattr(advancing, "_changed_columns", fail)
        with pytest.raises(RuntimeError, match="the news are lost"):
            live.current()

    assert_fresh(live, database)
    assert live.loads == {"first use": 1, "failure": 1}


def test_many_changes_at_once_load_everything(service, cloud, live, database, monkeypatch):
    monkeypatch.setattr(advancing, "_FEW", 1)
    live.current()
    cloud.build([{"name": "x"}, {"name": "y"}, {"name": "z"}])

    assert_fresh(live, database)


def test_slots_of_deleted_providers_are_given_back_in_the_end(
    service, cloud, live, database, monkeypatch
):
    monkeypatch.setattr("placement.candidates.live.live_snapshot._FEW", 1)
    live.current()
    cloud.build([{"name": name} for name in "wxyz"])
    live.current()
    for name in "wxyz":
        service.write("DELETE", f"/resource_providers/{cloud.uuids[name]}")

    assert live.current().size == 1


def test_a_provider_that_got_the_id_of_a_deleted_one_is_not_taken_for_it(
    service, cloud, live, database
):
    cloud.build([HOST | {"name": "old"}])
    live.current()
    service.write("DELETE", f"/resource_providers/{cloud.uuids['old']}")
    cloud.build([HOST | {"name": "new"}])
    assert_fresh(live, database)
