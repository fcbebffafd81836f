"""placement-manage compare: tokens that are given."""

import pytest

from tests.functional.placement.cli.compare.cloud import PATH, SECRET
from tests.functional.placement.served import served


@pytest.fixture
def guarded(application):
    """Serve the application to callers with SECRET, at most `left` times."""

    class Guard:
        left = 10_000

        def __call__(self, environ, start_response):
            if environ["PATH_INFO"] != "/":
                self.left -= 1
                if environ.get("HTTP_X_AUTH_TOKEN") != SECRET or self.left < 0:
                    start_response("401 Unauthorized", [("Content-Type", "application/json")])
                    return [b"{}"]
                environ["HTTP_X_AUTH_TOKEN"] = "admin"
            return application(environ, start_response)

    return Guard()


@pytest.mark.parametrize("way", ["--token", "--token-with", "OS_TOKEN"])
def test_a_token_reaches_the_service_and_is_never_shown(way, run, guarded, file, monkeypatch):
    given = [way, SECRET] if way.startswith("--") else []
    if not given:
        monkeypatch.setenv("OS_TOKEN", SECRET)
    with served(guarded) as url:
        code, out, err = run("--with", url, *given, *file(f"GET {PATH}"))
    assert (code, SECRET in out + err) == (0, False)


def test_each_service_may_have_its_own_token(run, guarded, url, file):
    with served(guarded) as other:
        options = ["--with", other, "--url", url, *file(f"GET {PATH}")]
        assert run(*options, "--token", "admin", "--token-with", SECRET)[0] == 0
        assert run(*options, "--token", "admin")[0] == 3


def test_a_refused_token_is_said_in_a_line(run, guarded, service):
    with served(guarded) as url:
        code, out, err = run("--with", url, "--token", "wrong-secret")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert f"{url} refuses the token (401)" in err
    assert "wrong-secret" not in err


def test_a_token_that_expires_meanwhile_ends_the_run_with_what_is_known(run, guarded, file):
    guarded.left = 6
    questions = [f"GET {PATH}?n={number}" for number in range(20)]
    with served(guarded) as url:
        # of two requests at a time, either may be the last with a valid token
        options = ["--token", SECRET, "--concurrency", "1"]
        code, out, err = run("--with", url, *options, *file(*questions))
    assert code == 3
    assert f"The run ended early: {url} refuses the token (401): it is wrong, has expired" in out
    assert "5  same\n" in out
    assert SECRET not in out + err


def test_a_token_without_a_role_is_said_in_a_line(run, url, service):
    code, _, err = run("--with", url, "--token", "somebody")
    assert (code, "needs the role `admin` or `service`" in err) == (3, True)
