"""Fake hypervisors that can't do what they are asked to, or only half of it (compute.md §6.4)."""

from collections.abc import Callable
from typing import Any

from oslo_config import cfg

from compute import exceptions
from virt.fake.driver import MediumFakeDriver, MediumFakeDriverWithNestedCustomResources
from virt.virtapi import VirtAPI

_SHELVED = "shelved_offloaded"


class BuildAborted(exceptions.NovaException):
    """A guest can't be started here nor elsewhere."""

    msg_fmt = "Build of instance %(instance_uuid)s aborted: %(reason)s"


class FakeRescheduleDriver(MediumFakeDriver):
    """Starts no guest at its first try. Of hosts that share `refused`, the second starts it."""

    def __init__(
        self, virtapi: VirtAPI, conf: cfg.ConfigOpts | None = None, refused: set[str] | None = None
    ) -> None:
        super().__init__(virtapi, conf)
        self._refused = set() if refused is None else refused

    def spawn(self, context: object, instance: Any, *details: object, **more: object) -> None:
        """Raise ComputeResourcesUnavailable at the guest's first try anywhere."""
        if instance.uuid not in self._refused:
            self._refused.add(instance.uuid)
            raise exceptions.ComputeResourcesUnavailable(reason="FakeRescheduleDriver")
        super().spawn(context, instance, *details, **more)


class FakeRescheduleDriverWithNestedCustomResources(
    FakeRescheduleDriver, MediumFakeDriverWithNestedCustomResources
):
    """Has the child provider, too."""


class FakeBuildAbortDriver(MediumFakeDriver):
    """Starts no guest, and reports that no other host could."""

    def spawn(self, context: object, instance: Any, *details: object, **more: object) -> None:
        """Raise BuildAborted."""
        raise BuildAborted(instance_uuid=instance.uuid, reason="FakeBuildAbortDriver")


class FakeBuildAbortDriverWithNestedCustomResources(
    FakeBuildAbortDriver, MediumFakeDriverWithNestedCustomResources
):
    """Has the child provider, too."""


class FakeUnshelveSpawnFailDriver(MediumFakeDriver):
    """Starts any guest but one that was shelved."""

    def spawn(self, context: object, instance: Any, *details: object, **more: object) -> None:
        """Raise ComputeResourcesUnavailable for a guest whose vm_state is shelved_offloaded."""
        if instance.vm_state == _SHELVED:
            raise exceptions.ComputeResourcesUnavailable(reason="FakeUnshelveSpawnFailDriver")
        super().spawn(context, instance, *details, **more)


class FakeUnshelveSpawnFailDriverWithNestedCustomResources(
    FakeUnshelveSpawnFailDriver, MediumFakeDriverWithNestedCustomResources
):
    """Has the child provider, too."""


class FakeLiveMigrateDriver(MediumFakeDriver):
    """Fails each live migration: the guest stays."""

    def live_migration(
        self,
        context: object,
        instance: Any,
        dest: str,
        post_method: Callable[..., object],
        recover_method: Callable[..., object],
        migrate_data: object = None,
        **details: object,
    ) -> None:
        """Call `recover_method` as a hypervisor does that gave up; the guest stays."""
        recover_method(context, instance, dest, migrate_data=migrate_data)


class FakeLiveMigrateDriverWithNestedCustomResources(
    FakeLiveMigrateDriver, MediumFakeDriverWithNestedCustomResources
):
    """Has the child provider, too."""


class FakeFinishMigrationFailDriver(MediumFakeDriver):
    """Accepts no guest that was resized or migrated."""

    def finish_migration(self, *details: object, **more: object) -> None:
        """Raise ComputeResourcesUnavailable."""
        raise exceptions.ComputeResourcesUnavailable(reason="FakeFinishMigrationFailDriver")
