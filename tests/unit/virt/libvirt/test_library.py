"""Tests that need libvirt are never passed over in silence."""

import importlib.util

import pytest

from tests.unit.virt.libvirt.library import require_libvirt


@pytest.fixture
def missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return monkeypatch


def test_without_the_library_they_are_skipped_saying_what_to_install(missing):
    missing.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"NOT TESTED WITH LIBVIRT.*libvirt-dev"):
        require_libvirt()


def test_in_ci_they_fail(missing):
    missing.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="NOT TESTED WITH LIBVIRT"):
        require_libvirt()
