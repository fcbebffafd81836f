"""Early proof that nothing fits: Hall's condition, which a maximum flow decides.

Variables with the same options are one *kind*, and have one bit. Suppliers that can serve the same
kinds are one *pool*, so the flow is small however many providers a tree has::

    A wants 2, B wants 1
    x serves A and has 1, y serves A and B and has 1, z serves B and has 1     all are served
    x serves A and has 2, y serves A and has 1                                 nothing is for B

There are 3 units in both cases. Hall's condition asks of every set of kinds whether the pools that
serve any of them have enough for all of them.
"""

import collections
from collections.abc import Iterable, Mapping


def can_supply(wants: Mapping[int, int], supplies: Iterable[tuple[int, int]]) -> bool:
    """Say whether every want can be met, if amounts could be split at will.

    For unit amounts (or amounts that are all equal, counted in that amount) the answer is exact.

    :param wants: how much the variables of each kind want together, by the bit of the kind
    :param supplies: (the bits of the kinds that it can serve, how much it has) of each supplier
    """
    if not wants:
        return True
    pools: collections.Counter[int] = collections.Counter()
    relevant = 0
    for options in wants:
        relevant |= options
    for bit, amount in supplies:
        if amount > 0 and bit & relevant:
            pools[bit & relevant] += amount
    if sum(pools.values()) < sum(wants.values()):
        return False
    if len(wants) == 1:
        return True
    return _flow_saturates(dict(wants), dict(pools))


def _flow_saturates(wants: dict[int, int], pools: dict[int, int]) -> bool:
    """Say whether the maximum flow meets all wants.

    A want can be served from the pools that share a bit with it. Each round finds a path along
    which more can flow. It may lead over other wants, which give up a pool and take from another.
    """
    flow: dict[tuple[int, int], int] = collections.defaultdict(int)
    free = dict(pools)
    for want, amount in wants.items():
        missing = amount
        while missing:
            path = _augmenting_path(want, wants, pools, free, flow)
            if path is None:
                return False
            pushed = min(missing, free[path[-1][1]])
            for (giver, _), (_, taken) in zip(path[1:], path[:-1], strict=True):
                pushed = min(pushed, flow[giver, taken])
            for number, (taker, pool) in enumerate(path):
                flow[taker, pool] += pushed
                if number + 1 < len(path):
                    flow[path[number + 1][0], pool] -= pushed
            free[path[-1][1]] -= pushed
            missing -= pushed
    return True


def _augmenting_path(
    want: int,
    wants: Mapping[int, int],
    pools: Mapping[int, int],
    free: Mapping[int, int],
    flow: Mapping[tuple[int, int], int],
) -> list[tuple[int, int]] | None:
    """Return the shortest path to a pool that has something free, as steps (want, pool).

    The want of each step takes from the pool what the want of the next step took until now:
    [(A, p), (B, q)] means that A takes from p what B had there, and B takes from q instead. None
    if there is no path.
    """
    came_from: dict[int, tuple[int, int | None]] = {}
    queue: collections.deque[tuple[int, int | None]] = collections.deque([(want, None)])
    asked = {want}
    while queue:
        taker, through = queue.popleft()
        for pool in pools:
            if pool in came_from or not pool & taker:
                continue
            came_from[pool] = (taker, through)
            if free[pool] > 0:
                path, here = [], pool
                while True:
                    who, before = came_from[here]
                    path.append((who, here))
                    if before is None:
                        return path[::-1]
                    here = before
            for other in wants:
                if other not in asked and flow.get((other, pool), 0) > 0:
                    asked.add(other)
                    queue.append((other, pool))
    return None
