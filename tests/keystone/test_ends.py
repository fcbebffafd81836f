"""When tokens stop being accepted: expired, revoked, their user or project disabled."""

import time

import pytest

from tests.keystone.cloud import options, start_ours
from tests.keystone.identity import PASSWORD, issued
from tests.keystone.server import BRIEF


@pytest.fixture(scope="module")
def caching(start_for_module, tmp_path_factory, identity):
    """Return our service with the usual cache of five minutes."""
    folder = tmp_path_factory.mktemp("caching")
    return start_ours(start_for_module, folder, **options(identity.url))


def test_an_expired_token_is_rejected_even_if_its_validation_is_cached(
    ours, reference, caching, people, brief
):
    token = issued(brief.url, people.users["admin"], PASSWORD, project_id=people.projects["demo"])
    assert caching.status(token) == 200
    time.sleep(BRIEF)
    answers = [service.ask(token) for service in (ours, reference, caching)]
    assert answers[0].status == 401
    assert answers[0] == answers[1] == answers[2]


def test_a_service_s_token_lets_it_finish_with_an_expired_token(ours, reference, people, brief):
    token = issued(brief.url, people.users["admin"], PASSWORD, project_id=people.projects["demo"])
    time.sleep(BRIEF)
    services = {role: people.token(role) for role in ("service", "admin")}
    answers = {
        role: [service.ask(token, X_Service_Token=given) for service in (ours, reference)]
        for role, given in services.items()
    }
    statuses = {role: answer[0].status for role, answer in answers.items()}
    # [keystone_authtoken]service_token_roles is `service`
    assert statuses == {"service": 200, "admin": 401}
    assert all(ours == theirs for ours, theirs in answers.values())


def test_a_wrong_service_token_is_rejected(ours, reference, people):
    token = people.token("admin")
    answers = [service.ask(token, X_Service_Token="wrong") for service in (ours, reference)]
    assert answers[0].status == 401
    assert answers[0] == answers[1]


def revoke(identity, token, user, project):
    identity.revoke(token)


def disable_user(identity, token, user, project):
    identity.change("user", user, enabled=False)


def disable_project(identity, token, user, project):
    identity.change("project", project, enabled=False)


def change_password(identity, token, user, project):
    identity.change("user", user, password="another")


def take_role(identity, token, user, project):
    identity.take("admin", user, project)


def delete_user(identity, token, user, project):
    identity.do("DELETE", f"/users/{user}")


@pytest.mark.parametrize(
    "end", [revoke, disable_user, disable_project, change_password, take_role, delete_user]
)
def test_what_ends_a_token_is_noticed_when_the_cache_ends(
    ours, reference, caching, identity, people, end
):
    user, project = people.newcomer(end.__name__)
    token = issued(identity.url, user, project_id=project)
    assert [one.status(token) for one in (ours, reference, caching)] == [200, 200, 200]
    end(identity, token, user, project)
    answers = [service.ask(token) for service in (ours, reference)]
    assert answers[0].status == 401
    assert answers[0] == answers[1]
    # until the cached validation ends, or the token itself
    assert caching.status(token) == 200


def test_the_end_of_the_cache_ends_a_revoked_token(start, tmp_path, identity, people):
    cached = 10
    service = start_ours(start, tmp_path, **options(identity.url, token_cache_time=str(cached)))
    user, project = people.newcomer("until-the-cache-ends")
    token = issued(identity.url, user, project_id=project)
    first = service.status(token)
    identity.revoke(token)
    time.sleep(cached)
    assert (first, service.status(token)) == (200, 401)
