"""Tokens of application credentials, with and without access rules."""

import pytest
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from tests.keystone.cloud import options, start_ours, start_reference
from tests.keystone.identity import PASSWORD

LISTING = [{"service": "placement", "method": "GET", "path": "/resource_providers"}]


@pytest.fixture(scope="module")
def credential(identity, people):
    """Return a function that makes a credential of the administrator, and returns its token."""

    def credential(name, roles=(), rules=None):
        user, project = people.users["admin"], people.projects["demo"]
        owner = Session(
            v3.Password(identity.url, user_id=user, password=PASSWORD, project_id=project)
        )
        fields = {"name": name, "roles": [{"name": role} for role in roles], "access_rules": rules}
        body = {"application_credential": {key: value for key, value in fields.items() if value}}
        answer = owner.post(f"{identity.url}/users/{user}/application_credentials", json=body)
        made = answer.json()["application_credential"]
        login = v3.ApplicationCredential(
            identity.url,
            application_credential_id=made["id"],
            application_credential_secret=made["secret"],
        )
        return login.get_token(Session())

    return credential


@pytest.mark.parametrize(
    ("roles", "status"), [((), 200), (("admin",), 200), (("reader",), 403)], ids=str
)
def test_a_credential_has_the_roles_it_was_given(ours, reference, credential, roles, status):
    token = credential(f"with {roles}", roles)
    answers = [service.ask(token) for service in (ours, reference)]
    assert (answers[0].status, answers[0]) == (status, answers[1])


def test_access_rules_need_the_service_s_type(ours, reference, credential):
    token = credential("unnamed", rules=LISTING)
    answers = [service.ask(token) for service in (ours, reference)]
    assert (answers[0].status, answers[0]) == (401, answers[1])


def test_access_rules_are_honoured(start, tmp_path, identity, reference_interpreter, credential):
    token = credential("listing", rules=LISTING)
    chosen = options(identity.url, service_type="placement")
    both = (
        start_ours(start, tmp_path, **chosen),
        start_reference(start, tmp_path, reference_interpreter, **chosen),
    )
    for path, status in (("/resource_providers", 200), ("/traits", 401)):
        answers = [service.ask(token, path) for service in both]
        assert (answers[0].status, answers[0]) == (status, answers[1])
