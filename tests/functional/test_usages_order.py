"""Usages come in the reference's order: JSON has none, but people and command lines show it."""

from tests.functional.cloud import Cloud, Service

PROVIDER = {
    "name": "host",
    "inventories": {name: {"total": 100} for name in ("DISK_GB", "VCPU", "MEMORY_MB")},
}


def test_classes_come_by_their_ids_and_the_count_after_the_first(database_url):
    service = Service(database_url)
    cloud = Cloud(service).build([PROVIDER])
    amounts = {"DISK_GB": 1, "VCPU": 2, "MEMORY_MB": 3}
    for number, kind in enumerate(("MIGRATION", "INSTANCE")):
        body = {
            "allocations": {cloud.uuids["host"]: {"resources": amounts}},
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": None,
            "consumer_type": kind,
        }
        path = f"/allocations/00000000-0000-4000-8000-{number:012}"
        service.write("PUT", path, body, "1.39")

    by_type = service.write("GET", "/usages?project_id=p", version="1.39")["usages"]
    of_all = service.write("GET", "/usages?project_id=p&consumer_type=all", version="1.39")

    expected = ["VCPU", "consumer_count", "MEMORY_MB", "DISK_GB"]
    assert [list(group) for group in by_type.values()] == [expected, expected]
    assert list(of_all["usages"]["all"].items()) == [
        ("VCPU", 4),
        ("consumer_count", 2),
        ("MEMORY_MB", 6),
        ("DISK_GB", 2),
    ]
