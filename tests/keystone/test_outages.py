"""Keystone is down, comes back, or exchanges its keys, while the service runs."""

import pytest

from tests.keystone.cloud import options, start_ours
from tests.keystone.identity import issued


@pytest.fixture
def caching(start, tmp_path, identity):
    """Return our service with the usual cache of five minutes."""
    return start_ours(start, tmp_path, **options(identity.url))


def test_only_tokens_in_the_cache_are_accepted_while_keystone_is_down(
    keystone, people, caching, ours, reference
):
    known, other = people.token("admin"), people.token("service")
    assert caching.status(known) == 200
    keystone.stop()
    try:
        assert caching.status(known) == 200
        assert caching.status(other) == 503
        answers = [service.ask(other) for service in (ours, reference)]
        assert answers[0].status == 503
        assert answers[0] == answers[1]
        assert caching.ask(None, "/").status == 200
        # for this the service doesn't need keystone
        assert caching.status(None) == 401
    finally:
        keystone.start()
    assert [one.status(other) for one in (caching, ours, reference)] == [200, 200, 200]
    assert caching.status("unknown") == 401


def test_a_service_that_starts_before_keystone_finds_it_later(
    keystone, people, start, tmp_path, identity
):
    token = people.token("admin")
    keystone.stop()
    try:
        service = start_ours(start, tmp_path, **options(identity.url))
        assert service.status(token) == 503
        assert f"keystone at {identity.url} can't be asked" in service.server.said()
    finally:
        keystone.start()
    assert service.status(token) == 200


def test_tokens_survive_a_rotation_of_keys_and_end_with_their_key(
    keystone, people, ours, reference
):
    both = (ours, reference)
    token = people.token("admin")
    assert [service.status(token) for service in both] == [200, 200]
    keystone.site.manage("fernet_rotate", *keystone.site.owner())
    assert [service.status(token) for service in both] == [200, 200]
    # keystone keeps three keys, the next one among them. The key of the service's own token goes
    # too: it must get a new token by itself.
    keystone.site.manage("fernet_rotate", *keystone.site.owner())
    answers = [service.ask(token) for service in both]
    assert (answers[0].status, answers[0]) == (401, answers[1])
    newer = people.token("admin")
    assert [service.status(newer) for service in both] == [200, 200]


def test_a_new_password_of_the_service_s_user_is_needed_at_the_next_log_in(
    start, tmp_path, keystone, identity, people
):
    """An operator changes the password in keystone first: keystone revokes the user's tokens."""
    project, user = identity.project("turning"), identity.user("turning")
    identity.grant("service", user, project)
    chosen = options(identity.url, username="turning", project_name="turning")
    chosen |= {"password": "the first", "token_cache_time": "-1"}
    service = start_ours(start, tmp_path, **chosen)
    identity.change("user", user, password="the first")
    assert service.status(people.token("admin")) == 200
    identity.change("user", user, password="the second")
    assert service.status(people.token("admin")) == 503
    assert "user turning" in service.server.said()
    # so the operator can also change it back
    identity.change("user", user, password="the first")
    assert service.status(people.token("admin")) == 200


def test_memcached_keeps_tokens_for_all_services_and_may_fail(
    start, tmp_path, keystone, identity, people, memcached
):
    process, address = memcached
    chosen = options(identity.url, memcached_servers=address)
    first, second = [start_ours(start, tmp_path, **chosen) for _ in range(2)]
    user, project = people.newcomer("cached")
    token = issued(identity.url, user, project_id=project)
    assert first.status(token) == 200
    identity.revoke(token)
    # the second service didn't ask keystone
    assert second.status(token) == 200
    process.kill()
    process.wait()
    assert second.status(people.token("admin")) == 200
    assert "in-process token cache" not in first.server.said()


def test_without_memcached_each_service_has_a_cache_and_says_so(start, tmp_path, identity, people):
    first, second = [start_ours(start, tmp_path, **options(identity.url)) for _ in range(2)]
    user, project = people.newcomer("uncached")
    token = issued(identity.url, user, project_id=project)
    assert first.status(token) == 200
    identity.revoke(token)
    assert (first.status(token), second.status(token)) == (200, 401)
    assert "in-process token cache" in first.server.said()
