"""Commands that speak HTTP alone do the same with the reference as with Berth.

The tests of tests/functional/compute/maintenance run again, each with a fresh reference.
"""

import contextlib

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from tests.functional.compute.maintenance import adopted
from tests.functional.compute.maintenance import test_adopt_meanwhile as interruption
from tests.functional.compute.maintenance import test_adopt_names as renaming
from tests.functional.compute.maintenance import test_adopt_over_capacity as excess
from tests.functional.compute.maintenance import test_adopt_provider as adoption
from tests.functional.compute.maintenance import test_devices as devices
from tests.functional.compute.maintenance import test_drain_plan as draining
from tests.functional.compute.maintenance import test_second_actors as meeting
from tests.functional.compute.maintenance.http_service import described
from tests.functional.compute.maintenance.site import Site
from tests.functional.placement.conftest import own_logging
from tests.reference.environment import reference_python
from tests.reference.starting import Starter, wait_for

__all__ = ["own_logging"]

cards, full, host, outsider = devices.cards, draining.full, adopted.host, adopted.outsider
release = devices.TestMeanwhile.release

test_lists = devices.test_devices_are_listed_with_whoever_holds_them
test_burned = devices.test_burned_devices_of_a_host_are_listed_alone
test_released = devices.test_a_burned_device_is_given_back_and_a_second_run_has_nothing_to_do
test_undone = devices.test_undo_reserves_what_the_journal_says
test_dry = devices.test_a_dry_run_changes_nothing_and_makes_no_journal
test_held = devices.test_what_somebody_holds_is_left_as_it_is
TestDevicesMeanwhile = devices.TestMeanwhile

test_first = draining.test_the_move_that_ends_the_excess_comes_first
test_told = draining.test_the_plan_is_told_for_people
test_room = draining.test_moves_of_the_plan_take_room_from_those_after_them
test_made = draining.test_every_move_can_be_made_in_the_order_of_the_plan
test_others = draining.test_a_host_that_is_over_capacity_takes_nothing_more
test_disabled = draining.test_a_disabled_host_takes_nothing_new
test_migration = draining.test_a_migration_in_progress_stays
test_cells = draining.test_cells_and_shared_storage_move_with_their_consumer
test_one_use = draining.test_a_device_for_one_use_is_not_over_capacity
test_limit = draining.test_more_candidates_than_the_limit_are_asked_for_if_the_first_are_taken

test_rebuilt = adoption.test_a_rebuilt_host_gets_all_that_its_provider_has
test_again = adoption.test_a_second_run_has_nothing_to_do
test_rehearsed = adoption.test_a_dry_run_tells_the_same_steps_and_writes_nothing
test_interrupted = interruption.test_an_interrupted_run_is_completed_by_the_next
test_excess = excess.test_what_is_over_capacity_moves_and_stays_over_capacity
test_device = adoption.test_a_device_for_one_use_moves_with_its_guest
test_empty = adoption.test_an_empty_provider_is_replaced_without_a_reshape
TestAdoptionMeanwhile = interruption.TestMeanwhile
TestAnotherName = renaming.TestAnotherName
TestRefused = adoption.TestRefused

cloud, beside = meeting.cloud, meeting.beside
test_mended = meeting.test_all_commands_one_after_the_other_mend_the_cloud
test_agent_beside_an_adoption = meeting.test_an_agent_beside_an_adoption_opens_no_room
test_beside_all = meeting.test_a_command_beside_all_others
test_each_beside_one = meeting.test_a_command_beside_one_other_before_each_write
test_reader_beside_all = meeting.test_a_command_that_reads_beside_all_who_write


class ReferenceSite(Site):
    """A host whose placement is the reference, at a URL."""

    def __init__(self, folder, database, capture, url):
        self.reference = url
        super().__init__(folder, f"sqlite:///{database}", capture)

    def configure(self, driver="fake.MediumFakeDriver", more=""):
        super().configure(driver, f"{more}{described(self.reference)}")

    @contextlib.contextmanager
    def adapter(self):
        session = Session(Token(self.reference, "admin"))
        yield Adapter(session, service_type="placement", raise_exc=False)


@pytest.fixture(scope="module")
def starter(tmp_path_factory):
    one = Starter(reference_python(), tmp_path_factory.mktemp("commands") / "reference")
    yield one
    one.close()


@pytest.fixture
def site(tmp_path, capsys, own_logging, starter):
    """Take the place of the sites whose placement is Berth."""
    database, policy = tmp_path / "placement.db", tmp_path / "policy.yaml"
    # commands have no header of their own for the role that a reshape needs
    policy.write_text('"placement:reshaper:reshape": "role:admin"\n')
    port = starter.serve(
        f"sqlite:///{database}",
        PLACEMENT_DATABASE__SYNC_ON_STARTUP="true",
        OSLO_POLICY__POLICY_FILE=str(policy),
    )
    wait_for(port)
    yield ReferenceSite(tmp_path, database, capsys.readouterr, f"http://127.0.0.1:{port}")
    starter.stop()


def test_who_fits_nowhere_is_told_without_the_reason_that_berth_knows(site, outsider, full):
    outsider.provider("host2", inventory=draining.stock(3))

    ended = site.run("drain", "--host", "host1", "--plan", "--over-capacity")

    assert (ended.code, ended.err) == (3, "")
    assert "no other host has room for it" in ended.out
