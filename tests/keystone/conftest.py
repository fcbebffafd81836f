"""Selects the tests of this folder, and starts the keystone that they share.

Keystone and the reference are installed from PyPI into environments of their own. So these tests
run only if BERTH_KEYSTONE is set; the tox environment `keystone` sets it. They need Debian's
package memcached.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.placement.serving.conftest import memcached, start, start_for_module
from tests.keystone.cloud import SERVICE_PASSWORD, Placement, options, start_ours, start_reference
from tests.keystone.environment import keystone_programs
from tests.keystone.identity import Identity
from tests.keystone.people import People
from tests.keystone.server import BRIEF, Keystone, Site
from tests.reference.environment import complete_in, reference_python

__all__ = ["memcached", "start", "start_for_module"]

collect_ignore_glob = [] if os.environ.get("BERTH_KEYSTONE") else ["test_*.py"]


@pytest.fixture(scope="session")
def programs() -> Path:
    """Return the folder with the programs of keystone and its clients."""
    return keystone_programs()


@pytest.fixture(scope="session")
def reference_interpreter() -> str:
    """Return the interpreter of the reference."""
    return reference_python()


@pytest.fixture(scope="session")
def bootstrapped(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return a keystone that has its administrator only, to copy; all processes share it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    site = Site(programs, shared / "bootstrapped-keystone")

    def bootstrap(folder: Path) -> None:
        folder.mkdir()
        site.initialise("http://keystone.test/v3")

    complete_in(site.folder, bootstrap)
    return site


@contextlib.contextmanager
def serving(site: Site) -> Iterator[Keystone]:
    """Serve a copy of a bootstrapped keystone until the end of the block."""
    server = Keystone(site, "keystone")
    server.start()
    try:
        Identity(server.url).settle()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def keystone(bootstrapped: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keystone]:
    """Yield a keystone that runs for all tests.

    A test that stops it starts it again.
    """
    with serving(bootstrapped.copied(tmp_path_factory.mktemp("keystone") / "site")) as server:
        yield server


@pytest.fixture(scope="session")
def brief(keystone: Keystone) -> Iterator[Keystone]:
    """Yield a second server of the same keystone, whose tokens are valid for BRIEF seconds."""
    server = Keystone(keystone.site, "brief", expiration=BRIEF)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def empty_keystone(bootstrapped: Site, tmp_path: Path) -> Iterator[Keystone]:
    """Yield a keystone of this test alone, with its administrator only."""
    with serving(bootstrapped.copied(tmp_path / "keystone")) as server:
        yield server


@pytest.fixture(scope="session")
def identity(keystone: Keystone) -> Identity:
    """Return the identity API, as the administrator; placement's user and service exist."""
    identity = Identity(keystone.url)
    project = identity.project("service")
    user = identity.user("placement", password=SERVICE_PASSWORD)
    identity.grant("service", user, project)
    # access rules of application credentials need it in the catalogue
    identity.endpoint(identity.service("placement"), "http://placement.test", "public")
    return identity


@pytest.fixture(scope="session")
def people(identity: Identity) -> People:
    """Return users and projects for tests; a test that changes some makes its own."""
    return People.settle(identity)


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the databases of the module's services."""
    return tmp_path_factory.mktemp("databases")


@pytest.fixture(scope="module")
def ours(start_for_module, module_folder: Path, identity: Identity) -> Placement:
    """Return our service, which asks keystone for each request."""
    chosen = options(identity.url, token_cache_time="-1")
    return start_ours(start_for_module, module_folder, **chosen)


@pytest.fixture(scope="module")
def reference(
    start_for_module, module_folder: Path, identity: Identity, reference_interpreter: str
) -> Placement:
    """Return the reference, which asks keystone for each request."""
    chosen = options(identity.url, token_cache_time="-1")
    return start_reference(start_for_module, module_folder, reference_interpreter, **chosen)
