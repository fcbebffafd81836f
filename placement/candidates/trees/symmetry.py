"""Equal providers of one tree: which states of a search lead to the same."""

import collections

from placement.candidates.trees.assignment import Assignment
from placement.candidates.trees.search_plan import SearchPlan


class Symmetry:
    """Tells apart only what makes a difference for the rest of the search."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        self._nested = plan.shape.nested
        self._one_class = len(plan.least) == 1
        #: the locals, those together that can stand for each other
        self._classes = _classes(plan)
        self._class_of = [0] * len(plan.locals)
        for which, members in enumerate(self._classes):
            for number in members:
                self._class_of[number] = which

    def state(self, assignment: Assignment, depth: int, missing: int) -> object:
        """Return a key: states of one key leave the rest of the search the same.

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
        """Return a key that is equal for locals that are as good as each other now.

        None if no two locals are.
        """
        if not self._nested:
            return None
        rooms, taken = assignment.rooms[local], assignment.taken
        return (self._class_of[local], *rooms, taken >> local & 1)


def _classes(plan: SearchPlan) -> list[list[int]]:
    tops = {local for _, local in plan.tops}
    masks = {variable.options for variable in plan.variables}
    classes: dict[object, list[int]] = collections.defaultdict(list)
    for number, local in enumerate(plan.locals):
        options = sum(1 << which for which, mask in enumerate(masks) if mask >> number & 1)
        if not options:
            continue
        named = number if number in tops else -1
        # trees matter only where a candidate must not use two providers of one tree
        tree = 0 if plan.shape.nested else local.tree
        classes[options, local.hits, tree, named].append(number)
    return list(classes.values())
