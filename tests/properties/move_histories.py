"""Random histories of three hosts, and the shortest part of one that still goes wrong."""

import random
from dataclasses import dataclass

from tests.properties import flaky_hosts

#: step → how often it is chosen
STEPS = {
    "build": 6,
    "build fails": 1,
    "terminate": 3,
    "shelve": 1,
    "unshelve": 3,
    "start resize": 8,
    "start live migration": 4,
    "start evacuation": 1,
    "claim": 12,
    "claim fails": 2,
    "go on": 14,
    "turn back": 7,
    "update": 14,
    "restart": 3,
    "trouble": 1,
    "no trouble": 5,
    "settle": 1,
}


@dataclass(frozen=True)
class Step:
    """What to do, and a number that chooses among what there is to do it with."""

    name: str
    number: int


def history(seed, length, often=STEPS):
    """Return a random list of steps; the same for the same seed.

    :param often: step → how often it is chosen
    """
    chance = random.Random(seed)
    names = chance.choices(list(often), list(often.values()), k=length)
    return [Step(name, chance.getrandbits(32)) for name in names]


def play(steps, world, new_player=None):
    """Do the steps that are possible, and settle; AssertionError for what goes wrong."""
    player = (new_player or Player)(world)
    last = Step("settle", steps[-1].number if steps else 0)
    for position, step in enumerate([*steps, last]):
        try:
            player.do(step)
            world.check()
        except Exception as wrong:
            wrong.add_note(f"at step {position}, {step}")
            raise


def shortest(steps, fails):
    """Return a part of `steps` that still fails, and none of which can be left out.

    :param fails: says whether a list of steps goes wrong
    """
    size = max(len(steps) // 2, 1)
    while True:
        at = 0
        while at < len(steps):
            fewer = steps[:at] + steps[at + size :]
            if fails(fewer):
                steps = fewer
            else:
                at += size
        if size == 1:
            return steps
        size //= 2


def settles(steps, settle, title):
    """Settle a history; if that fails, raise what the shortest part of it raises, and show both.

    :param settle: plays steps in a new world
    """

    def fails(steps):
        try:
            settle(steps)
        except Exception as wrong:
            return wrong
        return None

    if wrong := fails(steps):
        few = shortest(steps, fails)
        wrong = fails(few) or wrong
        wrong.add_note(f"{title}, the shortest history:")
        for step in few:
            wrong.add_note(f"    {step}")
        raise wrong


class Player:
    """Does steps: each with a guest and a host for which it is possible, if there are any."""

    #: the most guests at a time
    most_guests = 5

    def __init__(self, world):
        self.world = world

    def do(self, step):
        chance = random.Random(step.number)
        getattr(self, f"_{step.name.replace(' ', '_')}")(chance)

    def _guests(self, *phases):
        return [guest for guest in self.world.guests.values() if guest.phase in phases]

    def _host(self, chance):
        return chance.choice(list(self.world.hosts.values()))

    def _build(self, chance, fails=False, host=None):
        if len(self.world.guests) >= self.most_guests:
            return
        writer = self.world.settings.allocation_writer
        guest = self.world.create(
            chance.choice(self.world.flavors),
            chance.choice(self.world.device_specs),
            cell=chance.random() < 0.5,
            by_scheduler=writer == "scheduler" or (writer == "auto" and chance.random() < 0.5),
        )
        self.world.build(guest, host or self._host(chance), fails)

    def _build_fails(self, chance):
        self._build(chance, fails=True)

    def _terminate(self, chance):
        if guests := self._guests("active"):
            self.world.terminate(chance.choice(guests))

    def _shelve(self, chance):
        if guests := self._guests("active"):
            self.world.shelve(chance.choice(guests))

    def _unshelve(self, chance):
        if guests := self._guests("shelved"):
            self.world.unshelve(chance.choice(guests), self._host(chance))

    def _start_resize(self, chance):
        if guests := self._guests("active"):
            guest = chance.choice(guests)
            at = self.world.host(self.world.instance(guest).host)
            # Within a host there is most to be mixed up.
            host = at if chance.random() < 0.5 else self._host(chance)
            self.world.start_move(guest, host, "resize", chance.choice(self.world.flavors))

    def _start(self, chance, kind):
        if guests := self._guests("active"):
            guest = chance.choice(guests)
            at = self.world.instance(guest).host
            host = chance.choice([h for h in self.world.hosts.values() if h.name != at])
            self.world.start_move(guest, host, kind)

    def _start_live_migration(self, chance):
        self._start(chance, "live-migration")

    def _start_evacuation(self, chance):
        self._start(chance, "evacuation")

    def _claim(self, chance, fails=False):
        kinds = ("resize", "live-migration", "evacuation")
        if guests := self._guests(*(f"{kind} scheduled" for kind in kinds)):
            self.world.claim_move(chance.choice(guests), fails)

    def _claim_fails(self, chance):
        self._claim(chance, fails=True)

    FORTH = {
        "resize claimed": "switch",
        "resize switched": "finish",
        "resized": "confirm",
        "reverted": "finish_revert",
        "live-migration claimed": "complete",
        "evacuation claimed": "complete",
    }
    BACK = {
        "resize claimed": "fail_move",
        "resized": "revert",
        "reverted": "finish_revert",
        "live-migration claimed": "roll_back",
        "evacuation claimed": "fail_move",
    }

    def _go_on(self, chance):
        self._go(chance, self.FORTH)

    def _turn_back(self, chance):
        self._go(chance, self.BACK)

    def _go(self, chance, ways):
        if guests := self._guests(*ways):
            guest = chance.choice(guests)
            hosts = [name for name in (guest.source, guest.dest) if name is not None]
            getattr(self.world, ways[guest.phase])(guest)
            if chance.random() < 0.75:
                # A state of a move is short: so it is looked at while it lasts.
                self._update_host(self.world.host(chance.choice(hosts)))

    def _update(self, chance):
        self._update_host(self._host(chance))

    def _update_host(self, host):
        if host.update():
            self.world.check_host(host)

    def _restart(self, chance):
        self._host(chance).start()

    def _trouble(self, chance):
        kinds = [flaky_hosts.PLACEMENT_IS_AWAY, flaky_hosts.ANSWERS_ARE_LOST]
        self._host(chance).reach(chance.choice(kinds))

    def _no_trouble(self, chance):
        for host in self.world.hosts.values():
            host.reach(None)

    def _settle(self, chance):
        self._no_trouble(chance)
        while self._guests(*self.FORTH) or any(
            guest.phase.endswith("scheduled") for guest in self.world.guests.values()
        ):
            self._claim(chance)
            (self._go_on if chance.random() < 0.7 else self._turn_back)(chance)
        for _ in range(2):
            for host in self.world.hosts.values():
                host.tracker.reset()
                assert host.update()
        self.world.check_settled()
