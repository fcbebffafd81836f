"""An operator's rules may use everything in a caller's tokens, and never allow by mistake.

With `BERTH_GABBI_REFERENCE=/path/to/python` the tests run on the reference.
"""

import pytest
import yaml

from tests.functional.placement.http.test_keystone import REFERENCE, ours, theirs
from tests.functional.placement.keystone_stub import Keystone, token
from tests.gabbi import services

ELSEWHERE = {"id": "elsewhere", "name": "Elsewhere"}


def changed(data, **facts):
    """Return a token's data with changes."""
    return data | facts


@pytest.fixture
def keystone():
    ada = token("ada", ["admin"], "p")
    foreign = {"id": "ada", "name": "ada", "domain": ELSEWHERE}
    nova = token("nova", ["service"], "services")
    with Keystone() as server:
        server.tokens.update(
            ada=ada,
            bob=token("bob", ["admin"], "p"),
            cloud=changed(ada, is_admin_project=True),
            other=changed(ada, is_admin_project=False),
            project=token("ada", ["admin"], "q"),
            foreign=changed(ada, user=foreign),
            moved=changed(ada, project={"id": "p", "name": "p", "domain": ELSEWHERE}),
            domain=changed(token("ada", ["admin"]), domain=ELSEWHERE),
            system=token("ada", ["admin"], system=True),
            nova=nova,
            neutron=token("neutron", ["service"], "q"),
            audit=token("audit", ["service", "auditor"], "services"),
            novaaway=changed(nova, user={"id": "nova", "name": "nova", "domain": ELSEWHERE}),
            novamoved=changed(
                nova, project={"id": "services", "name": "services", "domain": ELSEWHERE}
            ),
        )
        yield server


@pytest.fixture
def ask(tmp_path, keystone):
    """Return a function that lists providers under a rule, with a token or two."""
    options = services.options_of(tmp_path, {}) | {"api": {"auth_strategy": "keystone"}}
    options["keystone_authtoken"] = keystone.options()
    options["oslo_policy"] = {"policy_file": str(tmp_path / "policy.yaml")}

    def ask(rule, *callers):
        rules = {"placement:resource_providers:list": rule}
        (tmp_path / "policy.yaml").write_text(yaml.safe_dump(rules))
        with (theirs if REFERENCE else ours)(tmp_path, options) as placement:
            return [
                placement(
                    "/resource_providers", user, **({"x_service_token": by[0]} if by else {})
                ).status_code
                for user, *by in (caller.split("+") for caller in callers)
            ]

    return ask


YES, NO = 200, 403


@pytest.mark.parametrize(
    ("rule", "let_in", "refused"),
    [
        ("user_id:ada", "ada", "bob"),
        ("project_id:p", "ada", "project"),
        ("project_id:%(project_id)s", "ada", None),
        ("user_id:%(user_id)s", "ada", None),
        ("role:admin", "ada", "nova"),
        ("'admin' in roles or role:auditor", None, "nova"),
        ("is_admin_project:True", "cloud", "other"),
        ("is_admin_project:True", "ada", "other"),
        ("is_admin_project:False", "other", "cloud"),
        ("not is_admin_project:False", "cloud", "other"),
        ("user_domain_id:elsewhere", "foreign", "ada"),
        ("project_domain_id:elsewhere", "moved", "ada"),
        # the operations' scope rejects these tokens, whatever the rule says
        ("domain_id:elsewhere", None, "domain"),
        ("@", None, "domain"),
        ("system_scope:all", None, "system"),
        ("@", None, "system"),
        ("not system_scope:all", "ada", "system"),
        ("service_roles:service", "ada+nova", "ada"),
        ("service_roles:auditor", "ada+audit", "ada+nova"),
        ("not service_roles:service", "ada", "ada+nova"),
        ("service_user_id:nova", "ada+nova", "ada+neutron"),
        ("service_project_id:services", "ada+nova", "ada+neutron"),
        ("service_user_domain_id:elsewhere", "ada+novaaway", "ada+nova"),
        ("service_project_domain_id:elsewhere", "ada+novamoved", "ada+nova"),
        # attributes that no context has
        ("is_admin:True", None, "ada"),
        ("is_admin:False", None, "ada"),
        ("user_name:ada", None, "ada"),
        ("project_name:p", None, "ada"),
        ("user_domain:default", None, "ada"),
        ("project_domain_name:Default", None, "ada"),
        ("service_user_name:nova", None, "ada+nova"),
        ("nothing:None", None, "ada"),
        ("not nothing:x", "ada", None),
    ],
)
def test_a_rule_decides_by_the_contents_of_the_tokens(ask, rule, let_in, refused):
    callers = [(caller, status) for caller, status in ((let_in, YES), (refused, NO)) if caller]
    # each caller twice, in turn, because a cached result must be used for its caller only
    callers = [*callers, *reversed(callers)]
    assert ask(rule, *(caller for caller, _ in callers)) == [status for _, status in callers]
