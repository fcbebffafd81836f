"""Tokens of application credentials, with and without access rules."""

import functools

import pytest
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from tests.keystone.cloud import SERVICE_PASSWORD, options, start_ours, start_reference
from tests.keystone.identity import PASSWORD, Identity
from tests.keystone.people import People

LISTING = [{"service": "placement", "method": "GET", "path": "/resource_providers"}]


def application_credential(identity, people, name, roles=(), rules=None):
    """Make an application credential of the administrator; return a token of it."""
    user, project = people.users["admin"], people.projects["demo"]
    owner = Session(v3.Password(identity.url, user_id=user, password=PASSWORD, project_id=project))
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


@pytest.fixture(scope="module")
def credential(identity, people):
    """Return `application_credential` for the keystone that all tests share."""
    return functools.partial(application_credential, identity, people)


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


def test_without_placement_in_the_catalogue_access_rules_reject_all_tokens(
    start, tmp_path, empty_keystone, reference_interpreter
):
    identity = Identity(empty_keystone.url)
    project = identity.project("service")
    identity.grant("service", identity.user("placement", password=SERVICE_PASSWORD), project)
    people = People.settle(identity)
    token = application_credential(identity, people, "listing", rules=LISTING)
    chosen = options(identity.url, service_type="placement", token_cache_time="-1")
    both = (
        start_ours(start, tmp_path, **chosen),
        start_reference(start, tmp_path, reference_interpreter, **chosen),
    )
    answers = [service.ask(token) for service in both]
    assert (answers[0].status, answers[0]) == (401, answers[1])
    # the credential itself is right
    assert both[0].status(people.token("admin")) == 200
    identity.endpoint(identity.service("placement"), "http://placement.test", "public")
    again = application_credential(identity, people, "listing again", rules=LISTING)
    assert [service.status(again) for service in both] == [200, 200]


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
