"""Libraries that only an extra of the distribution installs."""

import importlib.util
import os

import pytest


def needed_library(module, extra):
    """Skip the test, or all of a file, if the library isn't installed, with what to install.

    In CI, fail.
    """
    if importlib.util.find_spec(module) is not None:
        return
    reason = f"NOT TESTED WITH {module.upper()}: pip install 'openstack-berth[{extra}]'"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)
