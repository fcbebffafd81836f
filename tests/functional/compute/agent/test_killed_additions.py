"""An agent that is killed while it adds and removes what provider.yaml says.

`BERTH_TEST_AGENT_KILLS` says how many are killed on each database.
"""

import json
import os
import random
import signal
import sys
import threading
from uuid import uuid4

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from compute.cli.berth_compute import main
from placement import config
from tests.extent import examples
from tests.functional.compute.agent.process import Service
from tests.functional.compute.outsider import Outsider
from tests.functional.forked import PATIENCE, PROCESSES
from tests.service_settings import UNTIMED

KILLS = int(os.environ.get("BERTH_TEST_AGENT_KILLS", examples(1, 2)))

#: what the operator gave to the pool by API; the first file lists the trait, too
OPERATORS = "CUSTOM_OPERATORS"
FILES = {
    "first": (["CUSTOM_FIRST", "CUSTOM_BOTH", OPERATORS], {"CUSTOM_X": 5}),
    "second": (["CUSTOM_SECOND", "CUSTOM_BOTH"], {"CUSTOM_Y": 6}),
    "none": ([], {}),
}
OURS = {name for traits, classes in FILES.values() for name in [*traits, *classes]} - {OPERATORS}


def run(arguments):
    sys.stdout = sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.exit(main(arguments))


class Moment:
    """Kills a process before or after the service did one of its requests, or just some time on."""

    def __init__(self, service, source, requests):
        self._service, self._source = service, source
        self._requests = requests
        self._app = service.app

    def kill(self, process):
        """Arrange for the death of a process that is about to start; return a timer."""
        left = self._source.randrange(1, self._requests)
        afterwards = self._source.random() < 0.5
        app = self._app

        def counting(environ, start_response):
            nonlocal left
            left -= 1
            if not left and not afterwards:
                process.kill()
            answer = list(app(environ, start_response))
            if not left and afterwards:
                process.kill()
            return answer

        self._service.app = counting
        return threading.Timer(self._source.uniform(0, 1.5), process.kill)

    def over(self):
        self._service.app = self._app


class Host:
    """A host whose files change, with its agent and the pool of an operator below its root."""

    def __init__(self, folder, service):
        self.name = f"host-{uuid4()}"
        self.folder, self.state = folder / "provider_config", folder / "state"
        self.folder.mkdir()
        self.file = folder / "berth-compute.conf"
        self.file.write_text(
            f"[DEFAULT]\nhost = {self.name}\nstate_path = {self.state}\n"
            "compute_driver = fake.MediumFakeDriver\n"
            f"[compute]\nprovider_config_location = {self.folder}\n"
            "[placement]\nauth_type = admin_token\n"
            f"endpoint = {service.url}\ntoken = admin\n"
        )
        session = Session(auth=Token(service.url, "admin"))
        self.outsider = Outsider(Adapter(session, service_type="placement", raise_exc=False))
        assert self.agent(start=True) == 0
        self.uuid = (self.state / "compute_id").read_text()
        self.pool = self.outsider.provider(
            f"{self.name}-pool",
            parent=self.uuid,
            inventory={"CUSTOM_Z": {"total": 3}},
            traits=[OPERATORS],
        )

    def lists(self, name):
        traits, classes = FILES[name]
        entry = {
            "traits": {"additional": traits},
            "inventories": {"additional": [{c: {"total": t}} for c, t in classes.items()]},
        }
        providers = [
            {"identification": {"uuid": uuid}, **entry} for uuid in ("$COMPUTE_NODE", self.pool)
        ]
        content = {"meta": {"schema_version": "1.0"}, "providers": providers}
        (self.folder / "a.yaml").write_text(json.dumps(content))

    def agent(self, start):
        """Return an agent's process for one update, or run it and return the exit code."""
        process = PROCESSES.Process(target=run, args=(["--once", f"--config-file={self.file}"],))
        if not start:
            return process
        process.start()
        process.join(PATIENCE)
        return process.exitcode

    def added(self, uuid):
        """Return what the files may have added to a provider."""
        return OURS & {*self.outsider.traits(uuid), *self.outsider.totals(uuid)}

    def noted(self, uuid):
        """Return what is noted of a provider, of whole files."""
        path = self.state / "applied_provider_config" / f"{self.uuid}.json"
        noted = json.loads(path.read_text())["providers"].get(uuid, {})
        return {*noted.get("traits", ()), *noted.get("inventories", ())}

    def check(self):
        """Nothing is there without a note, and nothing of others is touched."""
        for uuid in (self.uuid, self.pool):
            added = self.added(uuid)
            assert added <= self.noted(uuid), f"{added} on {uuid}, noted {self.noted(uuid)}"
        assert OPERATORS in self.outsider.traits(self.pool)
        assert self.outsider.totals(self.pool)["CUSTOM_Z"] == 3
        assert self.outsider.totals(self.uuid)["VCPU"] == 10


@pytest.fixture
def service(new_database, forking):
    overrides = {
        **UNTIMED,
        ("placement_database", "connection"): new_database(),
        ("api", "auth_strategy"): "noauth2",
        ("berth", "noauth2_admin_roles"): ["admin", "service"],
    }
    service = Service(None, config.load(files=[], environ={}, overrides=overrides))
    yield service
    service.stop()


@pytest.mark.spread_over_databases
@pytest.mark.parametrize(
    "whole",
    [
        pytest.param(True, id="whole"),
        pytest.param(False, id="one by one", marks=pytest.mark.thorough),
    ],
)
def test_a_killed_agent_leaves_nothing_unnoted_and_the_next_one_completes(service, tmp_path, whole):
    host, source = Host(tmp_path, service), random.Random()
    with host.file.open("a") as file:
        file.write(f"[berth]\nwhole_trees = {whole}\n")
    # an update makes about so many requests
    moment = Moment(service, source, requests=4 if whole else 14)
    died, listed = 0, "none"
    for started in range(20 * KILLS):
        # it has something to add or to remove
        listed = source.choice([name for name in FILES if name != listed])
        host.lists(listed)
        process = host.agent(start=False)
        process.start()
        timer = moment.kill(process)
        timer.start()
        process.join(PATIENCE)
        timer.cancel()
        moment.over()
        died += process.exitcode == -signal.SIGKILL
        host.check()
        if died == KILLS:
            print(f"{died} killed at work of {started + 1} started", flush=True)
            break
    assert died == KILLS
    for name, (traits, classes) in FILES.items():
        host.lists(name)
        assert host.agent(start=True) == 0
        host.check()
        wanted = {*traits, *classes} - {OPERATORS}
        for uuid in (host.uuid, host.pool):
            assert (host.added(uuid), host.noted(uuid) - {OPERATORS}) == (wanted, wanted)
