"""The file compute_id (compute.md §5.5)."""

import threading

import pytest

from compute import config
from compute.exceptions import InvalidNodeConfiguration
from compute.records.node_identity import NodeIdentity

UUID = "11111111-1111-4111-8111-111111111111"
OTHER_UUID = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


def put(directory, content):
    directory.mkdir(exist_ok=True)
    (directory / "compute_id").write_text(content)


def test_without_a_file_there_is_no_identity(state):
    assert NodeIdentity(str(state)).read() is None


def test_a_new_identity_is_written_to_the_state_path_and_stays(state):
    made = NodeIdentity(str(state)).read_or_create()
    assert (state / "compute_id").read_text() == made
    assert NodeIdentity(str(state)).read_or_create() == made


def test_nothing_but_the_identity_is_left_behind(state):
    NodeIdentity(str(state)).read_or_create()
    assert [path.name for path in state.iterdir()] == ["compute_id"]


def test_white_space_around_the_uuid_does_not_matter(state):
    put(state, f"\n  {UUID}\t\n")
    assert NodeIdentity(str(state)).read() == UUID


@pytest.mark.parametrize(
    "content", ["", "host1", UUID.replace("-", ""), f"{UUID} {UUID}", "ü" * 36]
)
def test_a_file_without_a_uuid_of_36_characters_is_refused(state, content):
    put(state, content)
    with pytest.raises(InvalidNodeConfiguration, match="compute_id"):
        NodeIdentity(str(state)).read_or_create()


def test_an_identity_beside_a_configuration_file_is_used(tmp_path, state):
    put(tmp_path / "etc", UUID)
    (tmp_path / "etc" / "berth-compute.conf").write_text(f"[DEFAULT]\nstate_path = {state}\n")
    conf = config.load(files=[str(tmp_path / "etc" / "berth-compute.conf")], environ={})
    assert NodeIdentity.from_config(conf).read_or_create() == UUID
    assert not state.exists()


def test_two_files_that_agree_are_one_identity(tmp_path, state):
    put(tmp_path / "etc", UUID)
    put(state, UUID + "\n")
    assert NodeIdentity(str(state), [str(tmp_path / "etc")]).read() == UUID


def test_two_files_that_disagree_are_refused(tmp_path, state):
    put(tmp_path / "etc", UUID)
    put(state, OTHER_UUID)
    with pytest.raises(InvalidNodeConfiguration, match="disagree"):
        NodeIdentity(str(state), [str(tmp_path / "etc")]).read()


def test_what_was_read_once_holds_for_the_process(state):
    put(state, UUID)
    identity = NodeIdentity(str(state))
    identity.read()
    put(state, OTHER_UUID)
    assert identity.read_or_create() == UUID


def test_a_state_path_that_can_not_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidNodeConfiguration, match="can't write"):
        NodeIdentity(str(tmp_path / "file" / "below")).read_or_create()


def test_processes_that_start_together_agree_on_one_identity(state):
    identities = [NodeIdentity(str(state)) for _ in range(8)]
    together = threading.Barrier(len(identities))
    found = []

    def start(identity):
        together.wait()
        found.append(identity.read_or_create())

    threads = [threading.Thread(target=start, args=[identity]) for identity in identities]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {(state / "compute_id").read_text()}
