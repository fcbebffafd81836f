"""libvirt's own test hypervisor, for tests; needs the library.

Without it these tests are skipped, with a reason that says what to install – and fail where
`CI=true`, so that no run passes that has not tried it.
"""

import importlib.util
import os

import pytest

INSTALL = "install Debian's libvirt-dev, pkg-config and gcc, and the extra `libvirt`"


def require_libvirt():
    """Skip or fail the test that can't be run."""
    if importlib.util.find_spec("libvirt") is None:
        reason = f"NOT TESTED WITH LIBVIRT: the library is missing; {INSTALL}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


def test_hypervisor_of(directory, xml):
    """Write a test hypervisor's file and return its URI."""
    path = directory / "hypervisor.xml"
    path.write_text(xml)
    return f"test://{path}"


test_hypervisor_of.__test__ = False


class Altered:
    """A real connection, some of whose methods answer something else, or raise."""

    def __init__(self, connection, **answers):
        self._connection = connection
        self.answers = answers

    def __getattr__(self, name):
        if name not in self.answers:
            return getattr(self._connection, name)
        answer = self.answers[name]
        return answer if callable(answer) else lambda *arguments: answer
