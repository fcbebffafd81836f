"""What files added to providers, remembered on the host (decisions.rst)."""

import json
import pathlib

import pytest

from compute.resource_tracker.provider_yaml.applied_configs import (
    FOLDER,
    Added,
    AppliedConfigs,
    Unusable,
)

NODE, PROVIDER = "node-uuid", "provider-uuid"
FIRST = {PROVIDER: Added(frozenset({"CUSTOM_T"}), frozenset({"CUSTOM_C"}))}
SECOND = {PROVIDER: Added(frozenset({"CUSTOM_OTHER"}))}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / FOLDER


@pytest.fixture
def configs(tmp_path):
    return AppliedConfigs(str(tmp_path))


@pytest.fixture
def readings(monkeypatch):
    """Return the paths that are read from now on."""
    found, read = [], pathlib.Path.read_text

    def noted(path, *arguments, **options):
        found.append(path.name)
        return read(path, *arguments, **options)

    monkeypatch.setattr(pathlib.Path, "read_text", noted)
    return found


def test_what_is_noted_is_remembered_by_the_next_process(configs, tmp_path):
    assert configs.of(NODE) is None
    assert configs.note(NODE, FIRST)
    assert configs.of(NODE) == AppliedConfigs(str(tmp_path)).of(NODE) == FIRST


def test_a_file_that_does_not_change_is_read_once(configs, readings):
    configs.note(NODE, FIRST)
    readings.clear()
    for _ in range(3):
        assert configs.of(NODE) == FIRST
        assert configs.note(NODE, FIRST)
    assert readings == [f"{NODE}.json"]


def test_what_another_process_writes_is_seen(configs, tmp_path):
    configs.note(NODE, FIRST)
    assert configs.of(NODE) == FIRST
    AppliedConfigs(str(tmp_path)).note(NODE, SECOND)
    assert configs.of(NODE) == SECOND
    AppliedConfigs(str(tmp_path)).forget(NODE)
    assert configs.of(NODE) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 1}', json.dumps({"version": 0, "providers": {}})]
)
def test_a_damaged_file_counts_as_none_and_is_replaced(configs, folder, caplog, text):
    folder.mkdir()
    (folder / f"{NODE}.json").write_text(text)
    assert configs.of(NODE) is None
    assert configs.of(NODE) is None
    assert caplog.text.count("is damaged") == 1
    assert configs.note(NODE, FIRST)
    assert configs.of(NODE) == FIRST


def test_a_file_of_a_newer_version_is_neither_used_nor_replaced(configs, folder, caplog):
    folder.mkdir()
    file = folder / f"{NODE}.json"
    file.write_text('{"version": 2}')
    for _ in range(2):
        with pytest.raises(Unusable, match="of a newer version, 2"):
            configs.of(NODE)
    assert not configs.note(NODE, FIRST)
    assert file.read_text() == '{"version": 2}'
    # this process knows it all the same
    assert configs.of(NODE) == FIRST


def test_a_file_that_cannot_be_looked_for_is_not_taken_for_none(configs, folder):
    folder.write_text("no folder")
    with pytest.raises(Unusable, match="can't be read: Not a directory"):
        configs.of(NODE)


def test_a_name_that_no_file_may_add_is_never_taken_for_one(configs, folder):
    folder.mkdir()
    provider = {"traits": ["HW_CPU_X86_AVX"], "inventories": []}
    content = {"version": 1, "providers": {PROVIDER: provider}}
    (folder / f"{NODE}.json").write_text(json.dumps(content))
    assert configs.of(NODE) is None
