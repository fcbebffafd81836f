"""The demonstration from beginning to end, checking what it shows."""

import argparse
import contextlib
import os
import pathlib
import secrets
import signal
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from types import FrameType

from rich.console import Console

from compute.demo.programs import (
    DemoFailed,
    Machine,
    PlacementProgram,
    draw_reshape,
    machine,
    placement_service,
    run_agent,
)
from compute.demo.provider_drawing import Amounts, Picture, PlacementAPI

#: what moves to the NUMA nodes, and what stays
MOVING = ("VCPU", "MEMORY_MB")
STAYING = ("DISK_GB",)
#: what ends the demonstration; the last one comes when its terminal is closed
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DemoHost:
    """A compute host of the demonstration: a machine, and an agent with a state of its own."""

    def __init__(self, name: str, folder: pathlib.Path, url: str, machine: Machine) -> None:
        self.name = name
        self.machine = machine
        self._folder = folder / name
        self._folder.mkdir(exist_ok=True)
        self._url = url

    def flavor(self) -> Amounts:
        """Return what an instance takes.

        With several NUMA nodes that is so much memory that no two instances fit on one node.
        """
        memory = min(amount for amount in self.machine.memory_mb if amount)
        share = memory // 4 if len(self.machine.memory_mb) == 1 else memory * 3 // 4
        return {"VCPU": 1, "MEMORY_MB": share, "DISK_GB": 1}

    def start(self, numa: bool) -> None:
        """Start the agent once, with NUMA modelling on or off."""
        run_agent(self._configured(numa))

    def rehearse(self, drawing: pathlib.Path) -> None:
        """Draw what the next start of the agent moves with NUMA modelling on."""
        draw_reshape(self._configured(numa=True), drawing)

    def _configured(self, numa: bool) -> pathlib.Path:
        lines = [
            "[DEFAULT]",
            f"host = {self.name}",
            f"state_path = {self._folder}",
            "compute_driver = host",
            "[placement]",
            "auth_type = admin_token",
            f"endpoint = {self._url}",
            "token = admin",
            "[berth]",
            f"numa_in_placement = {str(numa).lower()}",
            f"sysfs_root = {self.machine.sysfs}",
            f"procfs_root = {self.machine.procfs}",
        ]
        config_file = self._folder / "berth-compute.conf"
        config_file.write_text("\n".join(lines) + "\n")
        return config_file


def tell(
    console: Console, service: PlacementProgram, host: DemoHost, drawing: pathlib.Path
) -> None:
    """Show the story of one host: flat, two instances, NUMA on, restart.

    Raises DemoFailed if a step doesn't do what it should.
    """
    api = PlacementAPI(service.url)
    console.rule(f"[bold]{host.name}")
    console.print("The agent starts; the host is one provider.")
    host.start(numa=False)
    root = _root_of(api, host.name)
    instances = _place_instances(api, root, host.flavor())
    names = {consumer: f"instance {number}" for number, consumer in enumerate(instances, 1)}
    console.print("Two instances are placed on it.\n")
    before = Picture.take(api, root)
    before.draw(console, names)

    console.print(
        "\nThe operator sets [bold]numa_in_placement = true[/] and restarts the agent: the driver "
        "raises ReshapeNeeded.\nOne request creates children and moves inventory and allocations "
        "to them.\n"
    )
    host.rehearse(drawing)
    if Picture.take(api, root) != before:
        raise DemoFailed("the rehearsal of the reshape changed something")
    writes = service.tree_writes()
    host.start(numa=True)
    after = Picture.take(api, root)
    after.draw(console, names)
    _check(before, after, instances)
    if service.tree_writes() != writes + 1:
        raise DemoFailed(f"{service.tree_writes() - writes} trees were written instead of one")
    console.print(
        f"\n[green]Nothing lost:[/] both instances hold what they held, {len(before.providers)} "
        f"provider became {len(after.providers)}."
    )
    generations = {provider.uuid: provider.generation for provider in after.providers}
    host.start(numa=True)
    again = Picture.take(api, root)
    if {provider.uuid: provider.generation for provider in again.providers} != generations:
        raise DemoFailed("a second start with the same configuration changed something")
    console.print("[green]Idle:[/] another start changes nothing.\n")


def _root_of(api: PlacementAPI, name: str) -> str:
    found = api.get(f"/resource_providers?name={name}")["resource_providers"]
    if len(found) != 1:
        raise DemoFailed(f"{len(found)} providers are called {name}, there should be one")
    return found[0]["uuid"]


def _place_instances(api: PlacementAPI, root: str, flavor: Amounts) -> dict[str, Amounts]:
    """Give two instances their allocations."""
    stock = api.get(f"/resource_providers/{root}/inventories")["inventories"]
    # a very small disk has no whole gigabyte to report
    taken = {name: amount for name, amount in flavor.items() if name in stock}
    instances = {str(uuid.uuid4()): taken for _ in range(2)}
    for consumer, held in instances.items():
        body = {
            "allocations": {root: {"resources": held}},
            "project_id": "demonstration",
            "user_id": "operator",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        api.put(f"/allocations/{consumer}", body)
    return instances


def _check(before: Picture, after: Picture, instances: dict[str, Amounts]) -> None:
    """Raise DemoFailed unless the reshape moved everything and lost nothing."""
    for consumer, amounts in instances.items():
        held = after.consumers().get(consumer, {})
        if held != amounts:
            raise DemoFailed(f"{consumer} held {amounts} and holds {held} now")
    for name in (*MOVING, *STAYING):
        if before.totals(name) != after.totals(name):
            raise DemoFailed(f"{before.totals(name)} {name} became {after.totals(name)}")
    root = next(provider for provider in after.providers if provider.parent is None)
    left = [name for name in MOVING if name in root.inventories]
    left += [name for held in root.allocations.values() for name in held if name in MOVING]
    if left or len(after.providers) < 2:
        raise DemoFailed(f"still on the root provider: {left or MOVING}")
    if after.overfull():
        raise DemoFailed("; ".join(after.overfull()))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration. Return 0, or 1 when something is not as it should be.

    A signal ends it. With `--stay`, after the story, that is its end, and the code is 0; before, it
    is 128 and the signal's number.
    """
    parser = argparse.ArgumentParser(prog="python -m compute.demo", description=__doc__)
    parser.add_argument("--keep", metavar="DIR", help="work in this directory and keep it")
    parser.add_argument(
        "--stay", action="store_true", help="leave the service running until Ctrl+C, to look at"
    )
    arguments = parser.parse_args(argv)
    console = Console(highlight=False, soft_wrap=True)
    # tox that is killed tells nobody
    starter = os.getppid() if "TOX_ENV_NAME" in os.environ else None
    end_at_signals()
    try:
        with contextlib.ExitStack() as stack:
            if arguments.stay and starter is not None:
                stack.enter_context(_ctrl_c_of_its_own())
            if arguments.keep:
                folder = pathlib.Path(arguments.keep).absolute()
                folder.mkdir(parents=True, exist_ok=True)
            else:
                folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            service = stack.enter_context(placement_service(folder))
            console.print(f"placement-api serves {service.url} from {folder}/placement.db")
            drawing = _tell_all(console, service, folder)
            console.print(
                "[bold green]All is as it should be.[/]\n"
                f"The reshape, drawn for a browser: {drawing}"
            )
            if arguments.stay:
                _stay(console, service, starter)
    except DemoFailed as failure:
        console.print(f"[red]The demonstration failed:[/] {failure}")
        return 1
    except Ended as ended:
        console.print(f"The demonstration was ended by {ended} before it was over.")
        return 128 + ended.number
    if arguments.stay:
        kept = f"{arguments.keep} stays." if arguments.keep else "Its files are deleted."
        console.print(f"The service has ended. {kept}")
    return 0


def _stay(console: Console, service: PlacementProgram, starter: int | None) -> None:
    """Leave the service running until a signal comes, or the starter is gone.

    :param starter: id of the process that ends with the demonstration; None: nobody
    """
    console.print(f"The page of this cloud: {service.url}/berth/v1/ui/ (Ctrl+C ends it)")
    with contextlib.suppress(Ended):
        while starter in (None, os.getppid()):
            time.sleep(1)


def _tell_all(console: Console, service: PlacementProgram, folder: pathlib.Path) -> pathlib.Path:
    """Tell the story of one machine or two; return the file that draws the last reshape."""
    # not in the folder, which may end with the demonstration
    drawing = pathlib.Path(tempfile.gettempdir(), f"berth-reshape-{secrets.token_hex(8)}.html")
    try:
        # it has its name before it is there: a signal may come in between
        drawing.touch(0o600, exist_ok=False)
        _tell_of_machines(console, service, folder, drawing)
    except BaseException:
        drawing.unlink(missing_ok=True)
        raise
    return drawing


def _tell_of_machines(
    console: Console, service: PlacementProgram, folder: pathlib.Path, drawing: pathlib.Path
) -> None:
    own = DemoHost("this-machine", folder, service.url, machine())
    tell(console, service, own, drawing)
    if len(own.machine.memory_mb) > 1:
        return
    console.print(
        "This machine has one NUMA node. The same again on a sample of another machine's sysfs: "
        "two sockets.\n"
    )
    sockets = DemoHost("two-sockets", folder, service.url, machine("two-socket"))
    tell(console, service, sockets, drawing)


@contextlib.contextmanager
def _ctrl_c_of_its_own() -> Iterator[None]:
    """Let Ctrl+C reach this process alone: tox, which gets it too, would report a failure."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        yield
        return
    try:
        group = os.getpgrp()
        if group == os.getpid() or group != os.tcgetpgrp(terminal):
            yield
            return
        # one gives the terminal back; at the other (Ctrl+Z) no shell would take it
        for each in (signal.SIGTTOU, signal.SIGTSTP):
            signal.signal(each, signal.SIG_IGN)
        os.setpgid(0, 0)
        os.tcsetpgrp(terminal, os.getpgrp())
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # the terminal is closed
                os.tcsetpgrp(terminal, group)
    finally:
        os.close(terminal)


class Ended(Exception):
    """Somebody asked the demonstration to end."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


def end_at_signals() -> None:
    """Raise Ended at the first signal. Later ones are ignored: terminals and tox send several."""
    for each in _SIGNALS:
        # nohup lets a program stay when the terminal is closed
        if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, _end)


def _end(number: int, _: FrameType | None) -> None:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Ended(number)
