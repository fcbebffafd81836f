from types import SimpleNamespace

import pytest

from compute import exceptions
from virt import fake
from virt.fake.failing import BuildAborted

GUEST = SimpleNamespace(uuid="guest-uuid", name="guest", vm_state="building")
SHELVED = SimpleNamespace(uuid="guest-uuid", name="guest", vm_state="shelved_offloaded")


@pytest.mark.parametrize(
    "driver_class",
    [fake.FakeRescheduleDriver, fake.FakeRescheduleDriverWithNestedCustomResources],
)
def test_a_guest_is_refused_by_the_first_host_and_taken_by_the_second(make, driver_class):
    refused = set()
    first, second = (make(driver_class, refused=refused) for _ in range(2))

    with pytest.raises(exceptions.ComputeResourcesUnavailable):
        first.spawn(None, GUEST)
    second.spawn(None, GUEST)

    assert (first.list_instances(), second.list_instances()) == ([], ["guest"])


def test_a_guest_is_taken_at_its_second_try(make):
    driver = make(fake.FakeRescheduleDriver)
    with pytest.raises(exceptions.ComputeResourcesUnavailable):
        driver.spawn(None, GUEST)

    driver.spawn(None, GUEST)

    assert driver.list_instances() == ["guest"]


@pytest.mark.parametrize(
    "driver_class",
    [fake.FakeBuildAbortDriver, fake.FakeBuildAbortDriverWithNestedCustomResources],
)
def test_a_build_is_aborted_for_good(make, driver_class):
    driver = make(driver_class)

    for _try in range(2):
        with pytest.raises(BuildAborted, match="guest-uuid"):
            driver.spawn(None, GUEST)


@pytest.mark.parametrize(
    "driver_class",
    [fake.FakeUnshelveSpawnFailDriver, fake.FakeUnshelveSpawnFailDriverWithNestedCustomResources],
)
def test_only_a_shelved_guest_is_refused(make, driver_class):
    driver = make(driver_class)

    with pytest.raises(exceptions.ComputeResourcesUnavailable):
        driver.spawn(None, SHELVED)
    driver.spawn(None, GUEST)

    assert driver.list_instances() == ["guest"]


@pytest.mark.parametrize(
    "driver_class",
    [fake.FakeLiveMigrateDriver, fake.FakeLiveMigrateDriverWithNestedCustomResources],
)
def test_a_live_migration_is_taken_back(make, driver_class):
    calls = []
    driver = make(driver_class)
    driver.spawn(None, GUEST)

    driver.live_migration(
        None,
        GUEST,
        "host2",
        lambda *args, **kwargs: calls.append("done"),
        lambda context, instance, dest, migrate_data: calls.append((instance.uuid, dest)),
    )

    assert (calls, driver.list_instances()) == ([("guest-uuid", "host2")], ["guest"])


def test_a_migrated_guest_is_not_taken_over(make):
    with pytest.raises(exceptions.ComputeResourcesUnavailable):
        make(fake.FakeFinishMigrationFailDriver).finish_migration(None, GUEST)


@pytest.mark.parametrize(
    "driver_class",
    [
        fake.FakeRescheduleDriverWithNestedCustomResources,
        fake.FakeBuildAbortDriverWithNestedCustomResources,
        fake.FakeUnshelveSpawnFailDriverWithNestedCustomResources,
        fake.FakeLiveMigrateDriverWithNestedCustomResources,
    ],
)
def test_those_with_nested_resources_have_the_child(make, tree, driver_class):
    make(driver_class).update_provider_tree(tree, "host1")

    assert tree.data("host1-child").inventory["CUSTOM_MAGIC"]["total"] == 10
