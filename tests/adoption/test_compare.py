"""`placement-manage compare` finds no difference between the reference and Berth."""

import json
import threading

import pytest

from tests.adoption import cloud
from tests.adoption.rows import rows

#: why the reference fails on PostgreSQL, in a word each
ON_POSTGRESQL = ["Forbidden", "Usages"]


@pytest.fixture
def compare(ours, monkeypatch):
    """Return a function that runs the command; it returns exit code, report and errors."""

    # the tests' environment has no options of a service but those that `Program.run` sets
    def compare(url, other, *options):
        command = ("compare", "--with", f"http://127.0.0.1:{other.port}", "--token", "admin")
        done = ours.run(
            url, "placement-manage", *command, "--rate", "0", "--format", "json", *options
        )
        return done.returncode, json.loads(done.stdout or "null"), done.stderr

    return compare


def test_a_database_that_was_never_taken_over_is_answered_alike(
    empty_url, reference, compare, database_kind
):
    with reference.serving(empty_url, sync=True) as theirs:
        cloud.build(theirs)
        before = rows(empty_url)
        code, report, err = compare(empty_url, theirs, "--sample", "100")
        assert rows(empty_url) == before
    assert (code, counted(report)) == (0, report["requests"]), (report, err)
    assert report["requests"] > 400
    crashes = sorted(one["reason"].split()[0] for one in report["known_deviations"])
    assert crashes == (ON_POSTGRESQL if database_kind == "postgresql" else [])


def counted(report):
    """Return how many requests were answered alike, as far as they can be."""
    return report["counts"]["same"] + report["counts"]["known"]


def test_both_services_beside_each_other_answer_alike(empty_url, reference, ours, compare):
    with reference.serving(empty_url, sync=True) as theirs:
        cloud.build(theirs)
        ours.sync(empty_url)
        with ours.serving(empty_url) as mine:
            code, report, err = compare(
                empty_url, theirs, "--url", f"http://127.0.0.1:{mine.port}", "--sample", "100"
            )
    assert (code, report["counts"]["different"]) == (0, 0), (report, err)


def test_every_request_about_the_cloud_may_come_from_a_file(
    empty_url, reference, compare, tmp_path
):
    path = tmp_path / "requests"
    with reference.serving(empty_url, sync=True) as theirs:
        cloud.build(theirs)
        asked = [request for request in cloud.questions(theirs) if request.method == "GET"]
        lines = [f"GET {request.path} {request.version or 'none'}\n" for request in asked]
        path.write_text("".join(lines))
        code, report, err = compare(empty_url, theirs, "--requests", str(path))
    assert (code, report["requests"]) == (0, len(set(lines))), (report, err)
    assert counted(report) == report["requests"]


def test_a_cloud_that_lives_meanwhile_has_no_differences(empty_url, reference, compare):
    ended = threading.Event()

    def live(service):
        number = 0
        while not ended.is_set():
            number += 1
            cloud.set_traits(
                service, cloud.HOSTS[0], *("HW_CPU_X86_AVX2", "CUSTOM_FAST")[: number % 3]
            )
            made = service.do("POST", "/resource_providers", {"name": f"short-lived-{number}"})
            service.do("DELETE", f"/resource_providers/{json.loads(made.body)['uuid']}")

    with reference.serving(empty_url, sync=True) as theirs:
        cloud.build(theirs)
        writer = threading.Thread(target=live, args=(theirs,))
        writer.start()
        try:
            code, report, _ = compare(empty_url, theirs, "--sample", "3")
        finally:
            ended.set()
            writer.join()
    assert (code, report["counts"]["different"]) == (0, 0), json.dumps(report, indent=1)
    assert report["counts"]["changed"] > 0
