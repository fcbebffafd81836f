"""placement-api with a slow keystone, and with tokens cached in memcached."""

import concurrent.futures
import sys

import pytest
import requests

from tests.functional.placement.keystone_stub import Keystone, token
from tests.functional.placement.serving.programs import FORKED, free_port, wait_until
from tests.functional.placement.serving.refusing import refusing
from tests.patience import PATIENCE

THREADS = 4
#: maximum number of requests that may wait for keystone
VALIDATIONS = 2
COMMAND = [FORKED, "--threads", str(THREADS)]


def variables(options):
    """Return the environment variables for options of [keystone_authtoken]."""
    found = {f"OS_KEYSTONE_AUTHTOKEN__{name.upper()}": value for name, value in options.items()}
    return found | {"OS_API__AUTH_STRATEGY": "keystone"}


@pytest.fixture
def keystone():
    with Keystone() as server:
        server.tokens.update(known=token("ada", ["admin"], "p"), other=token("ada", ["admin"], "p"))
        yield server


@pytest.fixture
def serve(start, keystone):
    """Return a function that starts the service with further options of [keystone_authtoken]."""

    def serve(**options):
        port = free_port()
        environ = variables(keystone.options() | options)
        return start([*COMMAND, "--port", str(port)], f"http://127.0.0.1:{port}", **environ)

    return serve


def ask(server, given):
    return server.request("GET", "/resource_providers", headers={"x-auth-token": given}).status_code


def test_a_silent_keystone_delays_only_requests_that_need_it(serve, keystone):
    server = serve()
    assert ask(server, "known") == 200
    with concurrent.futures.ThreadPoolExecutor(4 * THREADS) as clients:
        stuck = [clients.submit(ask, server, f"stuck{n}") for n in range(4 * THREADS)]
        try:
            # all but the waiting requests are rejected
            wait_until(lambda: sum(one.done() for one in stuck) == len(stuck) - VALIDATIONS, str)
            assert {one.result() for one in stuck if one.done()} == {503}
            assert ask(server, "known") == 200
            assert requests.get(f"{server.url}/", timeout=PATIENCE).status_code == 200
            assert sum(not one.done() for one in stuck) == VALIDATIONS
        finally:
            keystone.stop()
    assert ask(server, "known") == 200


def test_tokens_are_cached_in_memcached_while_it_runs(serve, keystone, memcached):
    process, address = memcached
    options = {"memcached_servers": address}
    first, second = serve(**options), serve(**options)
    assert [ask(server, "known") for server in (first, second, first)] == [200] * 3
    # one worker validated the token, the other one found it in the cache
    assert keystone.asked == ["known"]
    process.kill()
    process.wait()
    assert [ask(server, "known") for server in (first, second)] == [200, 200]
    assert ask(first, "other") == 200
    assert ask(first, "unknown") == 401


@pytest.mark.parametrize(
    ("module", "options", "said"),
    [
        ("memcache", {"memcached_servers": "127.0.0.1:1"}, "the package python-memcached"),
        (
            "bmemcached",
            {"memcached_servers": "127.0.0.1:1", "memcache_sasl_enabled": "true"},
            "the package python-binary-memcached",
        ),
        ("none", {"memcache_security_strategy": "ENCRYPT"}, "needs a memcache_secret_key"),
        ("none", {"auth_type": "nonsense"}, "[keystone_authtoken] can't be used"),
        ("none", {"auth_url": None}, "[keystone_authtoken] can't be used"),
        ("keystonemiddleware", {}, "needs openstack-berth[keystone]"),
    ],
)
def test_unusable_options_are_rejected_at_the_start(
    tmp_path, monkeypatch, capsys, own_logging, keystone, module, options, said
):
    # as if it weren't installed
    monkeypatch.setitem(sys.modules, module, None)
    refused = refusing(tmp_path, monkeypatch, capsys)
    lines = refused("--port", str(free_port()), **variables(keystone.options() | options))
    assert lines[-1].startswith("placement-api: ")
    assert said in lines[-1]
    assert not any("Traceback" in line for line in lines)
