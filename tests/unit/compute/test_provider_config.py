"""The operator's provider configuration files (compute.md §4.8, R29)."""

import os
from itertools import pairwise
from unittest import mock

import pytest

from compute.exceptions import ProviderConfigException
from compute.provider_config import (
    additional_inventories,
    additional_traits,
    get_provider_configs,
)

META = "meta: {schema_version: '1.0'}\n"
TRAITS = "traits: {additional: [CUSTOM_T]}"


@pytest.fixture
def read(tmp_path):
    """Write files, named a.yaml, b.yaml and so on, and read them all."""

    def read(*texts):
        for number, text in enumerate(texts):
            (tmp_path / f"{'abc'[number]}.yaml").write_text(text)
        return get_provider_configs(str(tmp_path))

    return read


def entry(identification, rest=TRAITS):
    return f"{META}providers: [{{identification: {{{identification}}}, {rest}}}]"


def test_a_directory_that_is_not_there_has_no_entries(tmp_path, caplog):
    with caplog.at_level("INFO"):
        assert get_provider_configs(str(tmp_path / "none")) == {}
    assert "No provider configs found" in caplog.text


def test_entries_are_known_by_their_identification_and_name_their_file(read):
    configs = read(entry("name: cn"), entry("uuid: $COMPUTE_NODE"))
    assert {key: config["__source_file"] for key, config in configs.items()} == {
        "cn": "a.yaml",
        "$COMPUTE_NODE": "b.yaml",
    }


def test_an_entry_adds_traits_and_inventories(read):
    inventories = "inventories: {additional: [{CUSTOM_A: {total: 1}}, {CUSTOM_B: {total: 2}}]}"
    (config,) = read(entry("name: cn", f"{TRAITS}, {inventories}")).values()
    assert additional_traits(config) == ["CUSTOM_T"]
    assert additional_inventories(config) == {"CUSTOM_A": {"total": 1}, "CUSTOM_B": {"total": 2}}


def test_files_are_read_in_the_order_of_their_names_and_others_are_not(tmp_path):
    (tmp_path / "b.yaml").write_text(entry("name: second"))
    (tmp_path / "a.yaml").write_text(entry("name: first"))
    (tmp_path / "c.yml").write_text("no yaml: [")
    assert list(get_provider_configs(str(tmp_path))) == ["first", "second"]


def test_an_entry_that_adds_nothing_is_dropped_and_no_duplicate(read):
    assert list(read(entry("name: cn", "traits: {}"), entry("name: cn"))) == ["cn"]


def test_unknown_keys_are_ignored(read):
    assert list(read(entry("name: cn", f"{TRAITS}, comment: mine") + "\nowner: me\n")) == ["cn"]


def test_a_newer_minor_version_is_only_a_warning(read, caplog):
    assert list(read(entry("name: cn").replace("1.0", "1.7"))) == ["cn"]
    assert "schema version 1.7" in caplog.text


RECORD = "inventories: {additional: [{CUSTOM_A: {%s}}]}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Unable to detect schema version"),
        ("providers: []", "Unable to detect schema version"),
        ("meta: {schema_version: 1.0}", "Unable to detect schema version"),
        (f"meta: {{schema_version: '1.{'9' * 5000}'}}", "Unable to detect schema version"),
        ("meta: {schema_version: newest}", "Unable to detect schema version"),
        ("- just\n- a list", "Unable to detect schema version"),
        ("meta: {schema_version: '2.0'}", "Unsupported schema major version 2"),
        ("meta: {schema_version: '1.01'}", "schema_version"),
        ("meta: [", "line"),
        ("meta: [" + "[" * 3000, "more than 100 lists"),
        ("when: 2026-13-45", "Unable to parse"),
        ("when: 2026-13-45", "month must be in 1..12"),
        ("size: " + "9" * 5000, "Unable to parse"),
        ("size: !!int ''", "Unable to parse"),
        ("flag: !!bool maybe", "Unable to parse"),
        ("when: !!timestamp soon", "Unable to parse"),
        ("run: !!python/object/apply:os.system [x]", "Unable to parse"),
        ("a: &a [*a]", "part of itself"),
        ("a: *b", "Unable to parse"),
        ("a: \0", "Unable to parse"),
        ("? [a]\n: b", "a key is not a string"),
        ("a: 1\na: 2", "the key 'a' occurs twice"),
        ("--- 1\n--- 2", "Unable to parse"),
        (META + "__source_file: x", "__source_file"),
        (entry("name: cn", RECORD % "total: 0"), "total"),
        (entry("name: cn", RECORD % "total: 9999999999"), "total"),
        (entry("name: cn", RECORD % "total: 1, reserved: -1"), "reserved"),
        (entry("name: cn", RECORD % "total: 1, allocation_ratio: .inf"), "allocation_ratio"),
        (entry("name: cn", RECORD % "total: 1, allocation_ratio: .nan"), "allocation_ratio"),
        (entry("name: cn", "inventories: {additional: [{1: {total: 1}}]}"), "not a string"),
        (META + "providers: 3", "providers"),
        (META + "providers: [{traits: {additional: [CUSTOM_T]}}]", "identification"),
        (entry("serial: x"), "identification"),
        (entry("name: cn, uuid: $COMPUTE_NODE"), "identification"),
        (entry("uuid: cn"), "uuid"),
        (entry(f"name: {'x' * 201}"), "name"),
        (entry("name: ''"), "name"),
        (entry("name: cn", "traits: {additional: [custom_t]}"), "custom_t"),
        (entry("name: cn", "traits: {additional: [HW_CPU_X86_AVX]}"), "Invalid traits, only cust"),
        (entry("name: cn", RECORD % "reserved: 1"), "total"),
        (entry("name: cn", RECORD % "total: 1.5"), "total"),
        (entry("name: cn", RECORD % "total: 1, price: 2"), "price"),
        (
            entry("name: cn", "inventories: {additional: [{VCPU: {total: 1}}]}"),
            "Invalid resource class, only custom resource classes are allowed: VCPU",
        ),
    ],
)
def test_r29_a_bad_file_is_refused_with_what_is_wrong(read, text, told):
    with pytest.raises(ProviderConfigException) as refused:
        read(text)
    assert told in str(refused.value)
    assert "a.yaml" in str(refused.value)


def bomb():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join(['*' + a] * 10)}]" for a, b in pairwise("abcdefghi")]
    return "\n".join([META, *lines, "providers: *i"])


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda path: path.write_bytes(b"\xff\xfe\x00\x01"), "Unable to read"),
        (lambda path: path.write_bytes(bytes(range(256))), "Unable to read"),
        (lambda path: os.truncate(path, 2**40), "more than 16 MiB"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "is not a regular file"),
        (lambda path: path.write_text(bomb()), "more than 1000000 values"),
        (lambda path: path.write_text(f"{META}providers: [{'1, ' * 10000}]"), "providers"),
    ],
)
def test_r29_a_file_that_is_no_configuration_is_refused_in_a_sentence(tmp_path, spoil, told):
    path = tmp_path / "a.yaml"
    path.touch()
    spoil(path)
    with pytest.raises(ProviderConfigException, match=told) as refused:
        get_provider_configs(str(tmp_path))
    assert str(path) in str(refused.value)
    assert len(str(refused.value)) < 2000


@pytest.mark.parametrize(("second", "files"), [(True, "'a.yaml', 'b.yaml'"), (False, "'a.yaml'")])
def test_r29_a_provider_defined_twice_is_refused(read, second, files):
    once = entry("name: cn")
    twice = once[:-1] + f", {{identification: {{name: cn}}, {TRAITS}}}]"
    with pytest.raises(ProviderConfigException) as refused:
        read(once, once) if second else read(twice)
    assert f"Provider cn has multiple definitions in source file(s): [{files}]" in str(
        refused.value
    )


def test_r29_a_file_that_can_not_be_read_is_refused(tmp_path):
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(ProviderConfigException, match="Unable to read"):
        get_provider_configs(str(tmp_path))


def test_a_location_that_cant_be_listed_isnt_taken_for_an_empty_one(tmp_path):
    file = tmp_path / "provider_config"
    file.write_text("")
    with pytest.raises(ProviderConfigException, match=f"Unable to list {file}"):
        get_provider_configs(str(file))
    with (
        mock.patch("os.listdir", side_effect=PermissionError(13, "Permission denied")),
        pytest.raises(ProviderConfigException, match="Permission denied"),
    ):
        get_provider_configs(str(tmp_path))
    assert get_provider_configs(str(tmp_path / "none")) == {}


def test_more_reserved_than_there_is_is_refused(read):
    inventories = "inventories: {additional: [{CUSTOM_A: {total: 1, reserved: 2}}]}"
    with pytest.raises(ProviderConfigException, match=r"CUSTOM_A is reserved in .*a.yaml"):
        read(entry("name: cn", inventories))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (entry("name: a", f"{TRAITS}, trait: {{}}"), "providers[0].trait. Do you mean traits?"),
        (entry("name: a", "traits: {additional: [CUSTOM_T], add: 1}"), "providers[0].traits.add."),
        (f"{META}provider: []", "nobody reads provider. Do you mean providers?"),
    ],
)
def test_a_key_that_nobody_reads_is_told_with_the_nearest(read, caplog, text, said):
    read(text)
    (record,) = [one for one in caplog.records if one.levelname == "WARNING"]
    assert said in record.getMessage()


def test_keys_of_a_later_schema_are_not_told(read, caplog):
    read("meta: {schema_version: '1.7'}\nproviders: []\nfuture: 1")
    assert "nobody reads" not in caplog.text
