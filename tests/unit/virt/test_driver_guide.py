"""The code in doc/driver_guide.rst works."""

import json
import os
import sys

import pytest

from compute.provider_tree import ProviderTree
from tests.functional.forked import Forked
from tests.page_code import files_of, text_of
from tests.unit.virt.consumers import body, resources, uuid
from virt.driver import load_driver
from virt.testing import ReshapeContract, ReshapeScenario
from virt.testing.scenario import OPERATORS_TRAIT
from virt.virtapi import NoopVirtAPI

GUIDE = text_of("driver_guide.rst")
FILES = files_of("driver_guide.rst")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return the directory with the guide's files, where Python finds modules."""
    for name, code in FILES.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_the_guide_has_a_driver_and_its_tests():
    assert sorted(FILES) == ["card_driver.py", "one_machine.py", "test_card_driver.py"]


def test_the_examples_tests_pass(files, forking):
    run = Forked(
        _test,
        [str(files)],
        {**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    said, complaints = run.communicate()
    assert run.returncode == 0, said + complaints
    assert " passed" in said


def _test(folder):
    """In a process of its own: run the guide's tests as in its folder."""
    os.chdir(folder[0])
    sys.path.insert(0, folder[0])
    return pytest.main(["-q", "-p", "no:cacheprovider", "test_card_driver.py"])


def test_the_example_is_found_by_its_path_and_reports(files, make_conf, tree: ProviderTree):
    facts = {
        "cpus": 4,
        "memory_mb": 4096,
        "cards": {"a": {"channels": 4, "fast": True}},
        "guests": {},
    }
    (files / "cards.json").write_text(json.dumps(facts))
    driver = load_driver(NoopVirtAPI(), "card_driver.CardDriver", make_conf())
    driver.init_host("host1")

    driver.update_provider_tree(tree, "host1")

    card = tree.data("host1_card_a")
    assert (card.inventory["CUSTOM_COMPRESSION_CHANNEL"]["total"], card.traits) == (
        4,
        {"CUSTOM_COMPRESSION_FAST"},
    )


class TestOneMachine(ReshapeContract):
    """The guide's driver of a machine, with everything on the root and then on cells."""

    @pytest.fixture
    def scenario(self, files, make_conf):
        def make(numa):
            conf = make_conf(berth__numa_in_placement=numa)
            return lambda: load_driver(NoopVirtAPI(), "one_machine.OneMachineDriver", conf)

        return ReshapeScenario(make(True), old_driver=make(False))


def test_a_guest_of_the_one_machine_goes_where_it_is(files, make_conf, tree):
    tree.new_root("machine", uuid(1))
    flat, modelled = (
        load_driver(
            NoopVirtAPI(),
            "one_machine.OneMachineDriver",
            make_conf(berth__numa_in_placement=numa),
        )
        for numa in (False, True)
    )
    flat.update_provider_tree(tree, "machine")
    (guest,) = modelled.list_instance_uuids()
    allocations = {guest: body({uuid(1): {"VCPU": 2}})}

    modelled.update_provider_tree(tree, "machine", allocations)

    assert resources(allocations) == {guest: {tree.data("machine_numa1").uuid: {"VCPU": 2}}}


def test_the_examples_lines_are_short_enough():
    assert max(len(line) for code in FILES.values() for line in code.splitlines()) <= 100


def test_what_the_guide_says_a_broken_driver_hears_is_what_it_hears():
    assert f"trait {OPERATORS_TRAIT}, an operator's, is gone from provider host1" in GUIDE
