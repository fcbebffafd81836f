"""Provides the code of the version before this one."""

import os

import pytest

from tests.versions.earlier import NoHistory, code_of, is_shallow, release_before


@pytest.fixture(scope="session")
def before(tmp_path_factory):
    """Return the folder with the code of the version before this one."""
    release = release_before()
    try:
        return code_of(release, tmp_path_factory.mktemp(f"berth-{release.version}"))
    except (NoHistory, FileNotFoundError) as error:
        reason = f"NOT TESTED BESIDE BERTH {release.version}: git can't read its commit: {error}"
        if os.environ.get("CI") == "true" and not is_shallow():
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
