"""Steps of histories on shaped hosts: those who act beside the services, and the operator."""

import random

from tests.properties.flaky_hosts import ANSWERS_ARE_LOST
from tests.properties.move_histories import STEPS as PLAIN_STEPS
from tests.properties.move_histories import Player

#: step → how often it is chosen
STEPS = {
    **PLAIN_STEPS,
    "build": 24,
    "unplug": 2,
    "plug": 3,
    "wipe": 3,
    "somebody takes": 2,
    "somebody leaves": 2,
    "scheduler comes between": 3,
    "heal": 1,
    "lose": 1,
    "reshape": 6,
    "older agent": 3,
}


class ShapedPlayer(Player):
    """Has steps for those who act beside the services, and more guests than there is room for."""

    most_guests = 14

    def _wipe(self, chance):
        self.world.wipe(chance)

    def _somebody_takes(self, chance):
        self.world.somebody_takes(self._host(chance), chance)

    def _somebody_leaves(self, chance):
        self.world.somebody_leaves(chance)

    def _scheduler_comes_between(self, chance):
        host, later = self._host(chance), random.Random(chance.random())
        host.adapter.before_write = lambda: self.world.somebody_takes(host, later)

    def _heal(self, chance):
        self.world.heal()

    def _reshape(self, chance):
        """Change a host that has guests: new ones, if need be."""
        world = self.world
        if hosts := [host for host in world.hosts.values() if world.may_be_reshaped(host)]:
            host = self._with_most(hosts, chance)
            world.reshape(host)

    def _older_agent(self, chance):
        hosts = [host for host in self.world.hosts.values() if host.trouble is None]
        if hosts:
            self.world.older_agent(self._with_most(hosts, chance), chance)

    def _with_most(self, hosts, chance):
        """Return the host with the most guests, and two more."""
        host = max(hosts, key=lambda host: len(self.world.guests_of(host)))
        for _ in range(2):
            self._build(chance, host=host)
        return host

    def _lose(self, chance):
        if guests := self._guests("active"):
            self.world.lose(chance.choice(guests))

    def _unplug(self, chance):
        self.world.unplug(self._host(chance), chance)

    def _plug(self, chance):
        self.world.plug()

    def _trouble(self, chance):
        self._host(chance).reach(ANSWERS_ARE_LOST)

    def _settle(self, chance):
        self._no_trouble(chance)
        self.world.plug()
        for host in self.world.hosts.values():
            host.adapter.before_write = None
        super()._settle(chance)
