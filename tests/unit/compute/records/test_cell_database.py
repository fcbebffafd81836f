"""Instances, migrations, aggregates and host mappings, in memory and in SQLite.

See compute.md §4.1.
"""

import contextlib
import dataclasses
import sqlite3
import threading

import pytest
import sqlalchemy as sa

from compute import exceptions
from compute.provider_tree import Resource
from compute.records.aggregate import Aggregate, HostMapping
from compute.records.cell_database import DuplicateRecord, schema, sqlite
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor, Instance, MigrationContext, allows_resource_removal
from compute.records.migration import Migration
from compute.records.service import Service


def an_instance(**fields):
    return Instance(**{"host": "host1", "node": "node1", **fields})


class TestInstances:
    def test_everything_about_an_instance_is_kept(self, cell):
        thing = Resource("rp", "CUSTOM_PMEM", "ns_0")
        instance = an_instance(
            flavor=Flavor(vcpus=2, memory_mb=512, extra_specs={"resources:VCPU": "0"}),
            new_flavor=Flavor(vcpus=4),
            resources=[thing],
            migration_context=MigrationContext(migration_id=3, new_resources=[thing]),
            pci_devices=[{"address": "0000:01:00.0", "dev_type": "type-PCI"}],
            booted_from_volume=True,
        )
        cell.instances.create(instance)
        assert cell.instances.by_uuid(instance.uuid) == instance

    def test_they_are_found_by_where_they_are(self, cell):
        here, there = an_instance(), an_instance(node="node2")
        for instance in (here, there, an_instance(host="host2")):
            cell.instances.create(instance)
        assert cell.instances.by_host("host1") == [here, there]
        assert cell.instances.by_host_and_node("host1", "node2") == [there]
        assert cell.instances.uuids_by_host("host1") == {here.uuid, there.uuid}

    def test_that_there_was_one_is_known_even_when_it_is_deleted(self, cell):
        before = cell.instances.has_any()
        instance = an_instance()
        cell.instances.create(instance)
        cell.instances.destroy(instance)
        assert (before, cell.instances.has_any()) == (False, True)

    def test_deleted_ones_are_found_only_on_demand(self, cell):
        instance = an_instance()
        cell.instances.create(instance)
        cell.instances.destroy(instance)
        assert cell.instances.by_host("host1") == cell.instances.all() == []
        assert cell.instances.by_uuid(instance.uuid) is None
        assert cell.instances.by_uuids([instance.uuid], include_deleted=True) == [instance]

    def test_many_are_found_at_once_and_none_for_nothing(self, cell):
        instances = [an_instance() for _ in range(3)]
        for instance in instances:
            cell.instances.create(instance)
        assert cell.instances.by_uuids(i.uuid for i in instances[:2]) == instances[:2]
        assert cell.instances.by_uuids([]) == []
        # however many are named: more than a statement of SQLite has parameters
        named = [*(str(number) for number in range(260_000)), instances[0].uuid]
        assert cell.instances.by_uuids(named) == instances[:1]

    def test_a_change_is_kept_when_it_is_saved(self, cell):
        instance = an_instance()
        cell.instances.create(instance)
        instance.host = None
        before = cell.instances.by_uuid(instance.uuid).host
        cell.instances.save(instance)
        assert (before, cell.instances.by_uuid(instance.uuid).host) == ("host1", None)

    def test_a_second_record_of_an_instance_is_refused(self, cell):
        instance = an_instance()
        cell.instances.create(instance)
        with pytest.raises(DuplicateRecord, match=instance.uuid):
            cell.instances.create(dataclasses.replace(instance))

    def test_saving_or_destroying_what_was_never_created_is_refused(self, cell):
        with pytest.raises(exceptions.InstanceNotFound):
            cell.instances.save(an_instance())
        with pytest.raises(exceptions.ObjectActionError):
            cell.instances.destroy(an_instance())

    @pytest.mark.parametrize(
        ("vm_state", "task_state", "removable"),
        [
            ("active", None, False),
            ("deleted", None, True),
            ("shelved_offloaded", None, True),
            ("shelved_offloaded", "spawning", False),
        ],
    )
    def test_deleted_and_offloaded_ones_hold_nothing(self, vm_state, task_state, removable):
        assert allows_resource_removal(vm_state, task_state) is removable


class TestMigrations:
    def move(self, cell, status="migrating", **fields):
        migration = Migration(
            **{
                "instance_uuid": "i",
                "status": status,
                "source_compute": "host1",
                "source_node": "node1",
                "dest_compute": "host2",
                "dest_node": "node2",
                **fields,
            }
        )
        cell.migrations.create(migration)
        return migration

    def test_those_from_and_to_a_node_are_found_once(self, cell):
        out = self.move(cell)
        within = self.move(cell, dest_compute="host1", dest_node="node1")
        self.move(cell, source_compute="host3")
        assert cell.migrations.unsettled("host1", "node1") == [out, within]

    def test_those_that_ended_are_settled_but_failed_and_reverted_ones_are_not(self, cell):
        for status in ("confirmed", "failed", "completed", "cancelled", "done"):
            self.move(cell, status)
        left = [self.move(cell, status) for status in ("reverted", "error", "finished")]
        assert cell.migrations.unsettled("host1", "node1") == left

    def test_a_migration_that_is_not_over_moves_its_instance(self, cell):
        running, failed, over = (
            self.move(cell, status) for status in ("accepted", "error", "done")
        )
        moved = [cell.migrations.moving_instance(one.uuid) for one in (running, failed, over)]
        assert moved == ["i", "i", None]
        assert cell.migrations.moving_instance("unknown") is None

    def test_all_of_some_instances_are_found_whatever_became_of_them(self, cell):
        wanted = [self.move(cell, "error"), self.move(cell, "done", instance_uuid="j")]
        self.move(cell, instance_uuid="k")
        assert cell.migrations.of_instances(["i", "j", "unknown"]) == wanted
        assert cell.migrations.of_instances([]) == []

    def test_several_are_found_by_their_uuids(self, cell):
        first, _, third = (self.move(cell) for _ in range(3))
        assert cell.migrations.by_uuids([third.uuid, first.uuid, "unknown"]) == [first, third]
        assert cell.migrations.by_uuids([]) == []

    def test_a_saved_migration_is_found_by_uuid_and_by_id(self, cell):
        migration = self.move(cell)
        migration.status = "error"
        cell.migrations.save(migration)
        assert cell.migrations.by_uuid(migration.uuid).status == "error"
        assert cell.migrations.by_id(migration.id) == migration

    def test_saving_what_was_never_created_is_refused(self, cell):
        with pytest.raises(exceptions.ObjectActionError):
            cell.migrations.save(Migration(instance_uuid="i"))


class TestOwnAllocations:
    def test_they_are_kept_by_node_until_they_are_discarded(self, cell):
        own = cell.own_allocations
        for consumer, node in (("a", "n"), ("b", "n"), ("a", "m"), ("a", "n")):
            own.add(consumer, node)
        kept = own.of_node("n")
        own.discard("a", "n")
        own.discard("unknown", "n")
        assert (kept, own.of_node("n"), own.of_node("m")) == ({"a", "b"}, {"b"}, {"a"})

    def test_classes_are_kept_beside_them(self, cell):
        own = cell.own_allocations
        for consumer, node in (("a", "n"), ("a", "m"), ("b", "m")):
            own.add(consumer, node)
        own.add_class("b", "m", "VGPU")
        for node, name in (("n", "VGPU"), ("n", "CUSTOM_A"), ("n", "VGPU"), ("m", "VGPU")):
            own.add_class("a", node, name)
        kept = own.classes_of_node("n")
        own.discard_class("a", "n", "VGPU")
        own.discard_class("a", "n", "UNKNOWN")
        assert (kept, own.of_node("n")) == ({"a": {"VGPU", "CUSTOM_A"}}, {"a"})
        assert own.classes_of_node("n") == {"a": {"CUSTOM_A"}}
        assert own.classes_of_node("m") == {"a": {"VGPU"}, "b": {"VGPU"}}


class TestAggregatesAndMappings:
    def test_aggregates_are_found_by_host(self, cell):
        aggregate = Aggregate("uuid", "ssd", hosts=["host1"])
        cell.aggregates.create(aggregate)
        aggregate.hosts.append("host2")
        cell.aggregates.save(aggregate)
        assert cell.aggregates.by_host("host2") == cell.aggregates.all() == [aggregate]
        assert cell.aggregates.by_host("host3") == []

    def test_an_aggregate_that_was_never_created_is_not_saved(self, cell):
        with pytest.raises(exceptions.ObjectActionError):
            cell.aggregates.save(Aggregate("uuid", "ssd"))

    def test_hosts_are_mapped_once(self, cell):
        mapping = HostMapping("host1", "cell1")
        cell.host_mappings.create(mapping)
        with pytest.raises(DuplicateRecord):
            cell.host_mappings.create(HostMapping("host1"))
        assert cell.host_mappings.by_host("host1") == mapping
        assert cell.host_mappings.all() == [mapping]


class TestMark:
    def test_it_stays_while_nothing_changes(self, cell):
        cell.instances.create(an_instance())
        before = cell.mark()
        cell.instances.by_host("host1")
        assert cell.mark() == before

    def test_each_kind_of_change_changes_it(self, cell):
        instance, node = an_instance(), ComputeNode("u", "host1", "node1")
        marks = [cell.mark()]
        for change in (
            lambda: cell.instances.create(instance),
            lambda: cell.instances.save(instance),
            lambda: cell.instances.destroy(instance),
            lambda: cell.services.create(Service("host1")),
            lambda: cell.compute_nodes.create(node),
            lambda: cell.migrations.create(Migration("i")),
            lambda: cell.own_allocations.add("i", "u"),
        ):
            change()
            marks.append(cell.mark())
        assert len(set(marks)) == 8


class TestFile:
    def test_a_file_from_before_the_history_is_taken_over(self, tmp_path):
        from compute.records.cell_database.tables import compute_nodes, services

        engine = sa.create_engine(f"sqlite:///{tmp_path}/{sqlite.FILE_NAME}")
        compute_nodes.create(engine)
        services.create(engine)
        with engine.begin() as connection:
            connection.execute(services.insert().values(host="host1", disabled=True))
        engine.dispose()
        cell = sqlite.open_in(str(tmp_path))
        cell.instances.create(an_instance())
        assert cell.services.by_host("host1").disabled
        cell.close()

    def test_a_file_of_the_first_revision_is_upgraded(self, tmp_path):
        cell = sqlite.open_in(str(tmp_path))
        cell.instances.create(an_instance())
        cell.close()
        with sqlite3.connect(tmp_path / sqlite.FILE_NAME) as connection:
            connection.execute("DROP TABLE own_allocations")
            connection.execute("DROP INDEX migrations_instance")
            connection.execute(f"UPDATE {schema.VERSION_TABLE} SET version_num = '0001'")
        cell = sqlite.open_in(str(tmp_path))
        cell.own_allocations.add("consumer", "node")
        assert len(cell.instances.by_host("host1")) == 1
        cell.close()

    def test_a_new_file_is_what_the_migrations_make(self, tmp_path):
        def schema_of(folder):
            sqlite.open_in(str(folder)).close()
            with contextlib.closing(sqlite3.connect(folder / sqlite.FILE_NAME)) as connection:
                made = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
                version = connection.execute(f"SELECT * FROM {schema.VERSION_TABLE}").fetchall()
            return sorted((name, "".join((sql or "").split())) for name, sql in made), version

        new, migrated = tmp_path / "new", tmp_path / "migrated"
        migrated.mkdir()
        with contextlib.closing(sqlite3.connect(migrated / sqlite.FILE_NAME)) as connection:
            # no empty file
            connection.execute("CREATE TABLE other (id INTEGER)")
        made, version = schema_of(migrated)
        made.remove(("other", "CREATETABLEother(idINTEGER)"))
        assert schema_of(new) == (made, version)

    def test_the_history_ends_at_the_schema_and_the_revision_in_use(self, tmp_path):
        from alembic.autogenerate import compare_metadata
        from alembic.runtime.migration import MigrationContext as Context

        cell = sqlite.open_in(str(tmp_path))
        with cell._engine.connect() as connection:
            context = Context.configure(connection, opts={"version_table": schema.VERSION_TABLE})
            assert compare_metadata(context, sqlite.tables.metadata) == []
            assert schema.version(connection) == schema.HEAD
        cell.close()

    def test_two_services_may_open_a_new_file_at_once(self, tmp_path):
        opened = []
        threads = [
            threading.Thread(target=lambda: opened.append(sqlite.open_in(str(tmp_path))))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        opened[0].instances.create(an_instance())
        assert [len(cell.instances.all()) for cell in opened] == [1, 1, 1, 1]
        for cell in opened:
            cell.close()

    def test_a_change_by_another_process_is_noticed(self, tmp_path):
        cell = sqlite.open_in(str(tmp_path))
        before = cell.mark()
        other = sqlite3.connect(tmp_path / sqlite.FILE_NAME)
        other.execute("INSERT INTO services (host, disabled) VALUES ('host9', 0)")
        other.commit()
        other.close()
        assert cell.mark() != before
        cell.close()
