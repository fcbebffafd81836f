"""What tests say of libraries that aren't installed."""

import pytest

from tests.extras import needed_library


def test_an_installed_library_is_used():
    needed_library("pytest", "test")


def test_without_the_library_a_test_is_skipped_and_says_what_to_install(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"NOT TESTED WITH NOWHERE.*berth\[ironic\]"):
        needed_library("nowhere", "ironic")


def test_in_ci_the_test_fails(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="NOT TESTED WITH NOWHERE"):
        needed_library("nowhere", "ironic")
