"""Equal providers of one tree: which states of a search lead to the same.

Locals that can serve the same variables are of one class, and can stand for each other. So the rest
of a search depends on how many locals of a class have how much left, and not on which. Four cards
have one unit each, and two variables have taken one each::

    left of cards 0 1 2 3      state
    0 0 1 1                    0 0 1 1
    0 1 1 0                    0 0 1 1
    1 0 1 0                    0 0 1 1

A search that found nothing behind the first one needn't look behind the others, and a count behind
the first one is the count behind all of them.
"""

import collections

from placement.candidates.trees.assignment import Assignment, SearchPlan


class Symmetry:
    """Gives states of a search keys that tell apart only what matters for the rest of it."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        self._nested = plan.shape.nested
        self._one_class = len(plan.least) == 1
        #: the locals by class
        self._classes = _classes(plan)
        self._class_of = [0] * len(plan.locals)
        for which, members in enumerate(self._classes):
            for number in members:
                self._class_of[number] = which

    def state(self, assignment: Assignment, depth: int, missing: int) -> object:
        """Return a key: behind states with the same key there are equally many solutions.

        :param depth: the variables before it are assigned
        :param missing: the trait sets that nothing hits yet, as bits
        """
        rooms, taken = assignment.rooms, assignment.taken
        if not self._nested:
            used = set(assignment.chosen[:depth])
            rests: list[object] = [
                tuple(sorted((*rooms[n], taken >> n & 1, n in used) for n in members))
                for members in self._classes
            ]
        elif self._one_class:
            rests = []
            for members in self._classes:
                rests += sorted([rooms[n][0] << 1 | taken >> n & 1 for n in members])
        else:
            rests = [
                tuple(sorted([(*rooms[n], taken >> n & 1) for n in members]))
                for members in self._classes
            ]
        tops = [assignment.is_used(local, depths, depth) for depths, local in self._plan.tops]
        return (depth, missing, *tops, *rests)

    def condition(self, assignment: Assignment, local: int) -> object:
        """Return a key that is equal for locals of one class that have the same left.

        None where a candidate may use one provider of each tree: no two locals are alike there.
        """
        if not self._nested:
            return None
        rooms, taken = assignment.rooms[local], assignment.taken
        return (self._class_of[local], *rooms, taken >> local & 1)


def _classes(plan: SearchPlan) -> list[list[int]]:
    """Return the locals that can serve any variable, those of a class together."""
    tops = {local for _, local in plan.tops}
    masks = {variable.options for variable in plan.variables}
    classes: dict[object, list[int]] = collections.defaultdict(list)
    for number, local in enumerate(plan.locals):
        options = sum(1 << which for which, mask in enumerate(masks) if mask >> number & 1)
        if not options:
            continue
        # a top must be used itself, so nothing can stand for it
        named = number if number in tops else -1
        # in which tree a local is matters only where a candidate may use one of each tree
        tree = 0 if plan.shape.nested else local.tree
        classes[options, local.hits, tree, named].append(number)
    return list(classes.values())
