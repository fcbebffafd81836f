"""An operator's policy file, for callers with keystone tokens (rest-api.md 2.2)."""

import os

import pytest

from tests.functional.placement.http.test_keystone import ours
from tests.functional.placement.keystone_stub import Keystone, token
from tests.gabbi import services


@pytest.fixture
def keystone():
    with Keystone() as server:
        server.tokens.update(
            admin=token("ada", ["admin"], "p"),
            service=token("nova", ["service"], "services"),
            reader=token("rea", ["reader"], "p"),
            auditor=token("aud", ["auditor"], "p"),
            system=token("sys", ["admin", "auditor"], system=True),
        )
        yield server


class PolicyFile:
    """A policy file that may change; each version has its own modification time."""

    def __init__(self, path):
        self.path = path
        self._time = 1_000_000_000

    def write(self, **rules):
        """Write rules of `placement:`, with `__` for dots, as the only contents of the file."""
        lines = [f'"placement:{name.replace("__", ":")}": "{rule}"' for name, rule in rules.items()]
        self.path.write_text("\n".join(lines) + "\n")
        self._time += 10
        os.utime(self.path, (self._time, self._time))


@pytest.fixture
def policy(tmp_path):
    return PolicyFile(tmp_path / "policy.yaml")


@pytest.fixture
def placement(tmp_path, keystone, policy):
    """Return the service with an empty policy file."""
    policy.write(nothing="@")
    options = services.options_of(tmp_path, {}) | {"api": {"auth_strategy": "keystone"}}
    options["keystone_authtoken"] = keystone.options()
    options["oslo_policy"] = {"policy_file": str(policy.path)}
    with ours(tmp_path, options) as client:
        yield client


def statuses(placement, path, *callers):
    return [placement(path, caller).status_code for caller in callers]


def test_a_file_without_a_rule_leaves_the_default(placement):
    callers = "admin", "service", "reader", "auditor"
    assert statuses(placement, "/resource_providers", *callers) == [200, 200, 403, 403]


def test_a_rule_of_the_file_overrides_the_default(placement, policy):
    policy.write(resource_providers__list="role:auditor")
    assert statuses(placement, "/resource_providers", "auditor", "admin") == [200, 403]


def test_other_operations_keep_their_defaults(placement, policy):
    policy.write(resource_providers__list="role:auditor")
    assert statuses(placement, "/resource_classes", "auditor", "admin") == [403, 200]


def test_a_rule_may_reject_every_caller(placement, policy):
    policy.write(traits__list="!")
    assert statuses(placement, "/traits", "admin", "service", "reader") == [403, 403, 403]


def test_a_rule_may_name_a_role_of_the_operator_s_own(placement, policy):
    policy.write(traits__list="role:auditor or role:admin")
    assert statuses(placement, "/traits", "auditor", "admin", "reader") == [200, 200, 403]


def test_a_rule_can_not_extend_the_scope(placement, policy):
    policy.write(traits__list="role:auditor")
    assert statuses(placement, "/traits", "system", "auditor") == [403, 200]


def test_a_rule_may_use_the_project(placement, policy):
    policy.write(usages="role:auditor and project_id:%(project_id)s")
    paths = "/usages?project_id=p", "/usages?project_id=q"
    assert [placement(path, "auditor").status_code for path in paths] == [200, 403]


def test_a_change_applies_from_the_next_request_on(placement, policy):
    found = []
    for rule in ("role:auditor", "!", "role:auditor or role:admin"):
        policy.write(traits__list=rule)
        found.append(statuses(placement, "/traits", "auditor", "admin"))
    assert found == [[200, 403], [403, 403], [200, 200]]


def test_the_default_applies_again_after_a_rule_is_removed_from_the_file(placement, policy):
    policy.write(traits__list="role:auditor")
    before = statuses(placement, "/traits", "auditor", "admin")
    policy.write(nothing="@")
    assert (before, statuses(placement, "/traits", "auditor", "admin")) == ([200, 403], [403, 200])
