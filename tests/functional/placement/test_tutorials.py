"""doc/tutorial.rst and doc/without_openstack.rst, word for word, against real services."""

import html
import importlib.util
import os
import re
import signal
import subprocess
import sys

import pytest

from tests import readme_commands
from tests.functional.placement.serving.programs import needed, wait_until
from tests.page_code import DOC, files_of, text_of
from tests.page_examples import fits, run_all, unlike, values

POOL = "without_openstack.rst"
LARGE = "resources=CUSTOM_GPU:1&required=CUSTOM_LARGE_MEMORY"
#: the job that the page shows
JOB = "8d0e5f3a-6b1c-4f7e-9a52-0c4b7d2e6f18"


@pytest.fixture
def service(tmp_path):
    """Yield the URL of an empty service."""
    needed("curl", "curl")
    with readme_commands.service_in(tmp_path) as url:
        yield url


def test_each_step_of_the_tutorial_answers_what_the_page_shows(service):
    printed = run_all("tutorial.rst", service)

    assert unlike("tutorial.rst", printed) is None
    assert {*printed} - {*files_of("tutorial.rst", "json")} == {"names", "the end"}
    assert printed["the end"].split() == []


def test_the_pictures_show_what_the_program_prints(tmp_path):
    """Drawn by `PYTHONPATH=. python doc/pictures`."""
    needed("curl", "curl")
    spec = importlib.util.spec_from_file_location("draw_trees", DOC / "pictures/draw_trees.py")
    draw_trees = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw_trees)

    for name, printed in draw_trees.trees(tmp_path, colours=False).items():
        picture = (DOC / "pictures" / name).read_text()
        parts = re.findall(r'<text class="tree-r\d+".*?>(.*?)</text>', picture)
        assert "".join(html.unescape("".join(parts)).split()) == "".join(printed.split()), name


def test_the_service_of_the_tutorial_starts_as_here():
    commands = (
        "\n    python3 -m venv .venv && .venv/bin/pip install .\n    .venv/bin/placement-api\n"
    )
    assert commands in text_of("tutorial.rst")


def run_blocks(service, *names):
    """Run blocks of the page about the pool; return what they print."""
    blocks = files_of(POOL, "bash")
    return readme_commands.run("\n".join(blocks[name] for name in names), service)


@pytest.fixture
def with_gpu(service, tmp_path):
    """Return a function that starts the page's script with the page's pool."""
    printed = run_blocks(service, "names", "the pool")
    assert values(printed) == values(files_of(POOL, "json")["the pool"])
    program = tmp_path / "with_gpu.py"
    program.write_text(files_of(POOL)["with_gpu.py"])

    def start(command, query):
        environ = os.environ | {"POOL": service, "GPU": query, "USER": "ada"}
        given = [sys.executable, str(program), *command]
        return subprocess.Popen(given, env=environ, stdout=-1, stderr=-1, text=True)

    return start


def test_two_jobs_compete_for_the_last_gpu_and_one_is_told_why(with_gpu, service, tmp_path):
    begun, end = tmp_path / "begun", tmp_path / "end"
    waits = f"touch {begun}; while [ ! -e {end} ]; do sleep 0.05; done; echo on $MACHINE"
    first = with_gpu(["sh", "-c", waits], LARGE)
    wait_until(begun.exists, lambda: "the first job didn't begin")

    second = with_gpu(["true"], LARGE)
    _, told = second.communicate()
    (found,) = values(run_blocks(service, "names", "who"))
    end.touch()
    said, _ = first.communicate()

    page = text_of(POOL)
    assert (first.returncode, said) == (0, "on blue\n")
    assert (second.returncode, told) == (1, re.search("^    (No GPU: .*\n)", page, re.M)[1])
    (job,) = found["consumers"]
    assert fits(values(files_of(POOL, "json")["who"].replace(JOB, job)), [found])
    # the first job gave its GPU back
    third = with_gpu(["true"], LARGE)
    third.communicate()
    assert third.returncode == 0


def test_the_gpu_of_a_killed_job_is_given_back_by_hand(with_gpu, service, tmp_path):
    begun = tmp_path / "begun"
    # the command kills the script that runs it
    killed = with_gpu(["sh", "-c", f"touch {begun}; kill -9 $PPID"], LARGE)
    killed.communicate()
    assert (begun.exists(), killed.returncode) == (True, -signal.SIGKILL)
    (found,) = values(run_blocks(service, "names", "who"))
    (job,) = found["consumers"]

    commands = files_of(POOL, "bash")
    back = commands["give back"].replace(JOB, job)
    said = readme_commands.run(commands["names"] + back, service)

    assert said.strip() == ""
    next_one = with_gpu(["true"], LARGE)
    next_one.communicate()
    assert next_one.returncode == 0


def test_a_command_that_fails_gives_the_gpu_back_too(with_gpu):
    for _ in range(2):
        job = with_gpu(["sh", "-c", "exit 7"], LARGE)
        job.communicate()
        assert job.returncode == 7


def test_the_script_has_thirty_lines():
    lines = files_of(POOL)["with_gpu.py"].strip().splitlines()
    assert len([line for line in lines if line.strip()]) <= 30
