"""Libraries that only an extra of the distribution installs."""

import importlib.util
import os

import pytest


def needed_library(module, extra):
    """Skip the test if the library isn't installed, with what to install; in CI, fail."""
    if importlib.util.find_spec(module) is not None:
        return
    reason = f"NOT TESTED WITH {module.upper()}: pip install 'openstack-berth[{extra}]'"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
