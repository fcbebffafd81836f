"""Audits while others write: whatever the feed tells of is no difference."""

import random
import threading

import pytest

from placement.candidates.live.live_snapshot import LiveSnapshot
from tests.functional.placement.candidates.snapshot.comparing import HOST, assert_fresh
from tests.functional.placement.candidates.snapshot.test_freshness import WRITES
from tests.functional.placement.service import Service
from tests.functional.placement.topology import Cloud

WRITERS, ROUNDS = 2, 8


def rename(function, cloud, number):
    """Run a write in a cloud of its own, whose names nobody else has."""
    prefix = f"{function.__name__} {number} "
    build = cloud.build

    def build_apart(topology, allocations=()):
        renamed = [
            provider
            | {"name": prefix + provider["name"]}
            | ({"parent": prefix + provider["parent"]} if provider.get("parent") else {})
            for provider in topology
        ]
        build(renamed, allocations)
        cloud.uuids |= {
            name.removeprefix(prefix): key
            for name, key in cloud.uuids.items()
            if name.startswith(prefix)
        }

    cloud.build = build_apart
    return cloud


#: those that name providers of their own in the bodies of requests
CHOSEN = [
    write
    for write in WRITES
    if write.__name__
    not in ("reparent", "become_a_root", "delete_and_make_again", "rename_a_class", "new_names")
]


def write_at_random(url, number, failures):
    try:
        service, source = Service(url), random.Random(number)
        for round_ in range(ROUNDS):
            write = source.choice(CHOSEN)
            cloud = rename(write, Cloud(service), f"{number}.{round_}")
            cloud.build([HOST])
            write(service, cloud)
            key = cloud.uuids["host"]
            if write.__name__ == "remove_everything":
                service.write("DELETE", f"/resource_providers/{key}")
    except BaseException as error:
        failures.append(error)
        raise


@pytest.mark.usefixtures("cloud")
def test_random_writes_meanwhile_are_never_taken_for_a_bypass(url, database, caplog):
    live = LiveSnapshot(database, audit_interval=1000, watch=lambda live: None)
    live.current()
    failures, audits = [], 0
    writers = [
        threading.Thread(target=write_at_random, args=(url, number, failures))
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers) or not audits:
        live.audit_in_background()
        audits += 1
        if audits % 3 == 0:
            live.current()
    for writer in writers:
        writer.join()

    assert not failures
    assert "behind the change feed" not in caplog.text
    assert live.loads == {"first use": 1}
    assert_fresh(live, database)
