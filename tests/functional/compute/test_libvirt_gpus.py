"""GPUs in the libvirt driver's reshapes, through tracker, client and service (compute.md §6.5)."""

from functools import partial

import pytest

from compute import exceptions
from compute.config.devices import register_types
from tests.functional.compute.libvirt_host import (
    SERVER,
    elsewhere,
    flat,
    known,
    migrating,
    start,
)
from tests.functional.compute.outsider import tree_of
from tests.unit.virt.libvirt.older_driver import OlderDriver
from tests.unit.virt.node.hosts import (
    GPUS,
    TYPE,
    floating,
    mdev_uuid,
    mediated,
)

__all__ = ["elsewhere", "flat", "known", "start"]


class TestVGPU:
    """R21, with the hypervisor's own facts."""

    @pytest.fixture
    def older(self, host, start, known):
        known.change(
            creatable={device: {TYPE: 0} for device in GPUS},
            mediated_devices=mediated(dict(enumerate(GPUS, start=1))),
        )
        start(partial(OlderDriver, former={"VGPU": 3}))
        return host

    def nest(self, start):
        start(devices__enabled_mdev_types=[TYPE])

    def test_r21_vgpu_moves_to_the_gpus_and_nothing_of_another_host(
        self, older, start, known, outsider, elsewhere
    ):
        first = outsider.allocate({older.uuid: {**SERVER, "VGPU": 1}, elsewhere: {"VGPU": 1}})
        second = outsider.allocate({older.uuid: {"VGPU": 1}})
        stranger = outsider.allocate({elsewhere: {"VGPU": 5}})
        known.there = [
            floating(first, mediated_devices=[mdev_uuid(1)]),
            floating(second, mediated_devices=[mdev_uuid(3)]),
        ]
        self.nest(start)
        tree = tree_of(outsider, older)
        assert "VGPU" not in outsider.totals(older.uuid)
        assert {outsider.totals(tree[gpu])["VGPU"] for gpu in GPUS} == {1}
        assert outsider.allocations(first) == {
            older.uuid: SERVER,
            tree[GPUS[0]]: {"VGPU": 1},
            elsewhere: {"VGPU": 1},
        }
        assert outsider.allocations(second) == {tree[GPUS[2]]: {"VGPU": 1}}
        assert outsider.allocations(stranger) == {elsewhere: {"VGPU": 5}}

    def test_r21_a_migration_ends_the_service_and_moves_nothing(
        self, older, start, known, outsider
    ):
        guest = outsider.allocate({older.uuid: {"VGPU": 1}})
        migration = migrating(older, outsider, guest, {older.uuid: {"VGPU": 1}})
        known.there = [floating(guest, mediated_devices=[mdev_uuid(1)])]
        with pytest.raises(exceptions.ReshapeFailed, match=migration):
            self.nest(start)
        assert older.moves() == 0
        for consumer in (guest, migration):
            assert outsider.allocations(consumer) == {older.uuid: {"VGPU": 1}}

    def test_r21_a_mismatch_is_a_warning_and_the_devices_count(
        self, older, start, known, outsider, caplog
    ):
        guest = outsider.allocate({older.uuid: {**SERVER, "VGPU": 2}})
        known.there = [floating(guest, mediated_devices=[mdev_uuid(2)])]
        self.nest(start)
        gpu = tree_of(outsider, older)[GPUS[1]]
        assert outsider.allocations(guest) == {older.uuid: SERVER, gpu: {"VGPU": 1}}
        assert guest in caplog.text

    def test_a_gpu_that_vanished_goes_when_its_guests_are_gone(self, host, start, known, outsider):
        known.change(creatable={GPUS[0]: {TYPE: 1}, GPUS[1]: {TYPE: 1}})
        self.nest(start)
        gpu = tree_of(outsider, host)[GPUS[0]]
        guest = outsider.allocate({gpu: {"VGPU": 1}})
        known.change(creatable={GPUS[1]: {TYPE: 1}})
        (failure,) = host.update().failures.values()
        assert isinstance(failure, exceptions.ResourceProviderSyncFailed)
        assert f"{host.name}_{GPUS[0]}" in str(failure)
        assert outsider.exists(gpu)
        outsider.call("DELETE", f"/allocations/{guest}")
        assert host.update().failures == {}
        assert set(tree_of(outsider, host)) == {host.name, GPUS[1]}


def test_each_gpu_offers_the_type_that_its_group_says(host, start, known, outsider):
    both = {"big": 16, "small": 8}
    known.change(creatable={GPUS[0]: both, GPUS[1]: both})
    host.conf.set_override("enabled_mdev_types", ["big", "small"], "devices")
    register_types(host.conf)
    start(
        mdev_big__device_addresses=["0000:84:00.0"],
        mdev_big__max_instances=4,
        mdev_small__device_addresses=["0000:85:00.0"],
        mdev_small__mdev_class="CUSTOM_SMALL_GPU",
    )
    tree = tree_of(outsider, host)
    totals = [outsider.totals(tree[gpu]) for gpu in GPUS[:2]]
    assert totals == [{"VGPU": 4}, {"CUSTOM_SMALL_GPU": 8}]


def test_r24_a_class_of_mediated_devices_is_renamed_with_its_allocations(
    host, start, known, outsider
):
    known.change(creatable={GPUS[0]: {TYPE: 4}})
    start(devices__enabled_mdev_types=[TYPE], berth__mdev_classes={TYPE: "CUSTOM_GPU"})
    gpu = tree_of(outsider, host)[GPUS[0]]
    consumers = [outsider.allocate({gpu: {"CUSTOM_GPU": n}, host.uuid: SERVER}) for n in (1, 2)]
    start(berth__mdev_classes={}, berth__renamed_resource_classes={"CUSTOM_GPU": "VGPU"})
    reshapes = [host.moves()]
    start()
    assert [*reshapes, host.moves()] == [1, 0]
    assert outsider.totals(gpu) == {"VGPU": 4}
    assert [outsider.allocations(one)[gpu] for one in consumers] == [{"VGPU": 1}, {"VGPU": 2}]
