"""Which requests found the first trees of the cloud full, so that the next search begins elsewhere.

A cloud is filled from its first trees on. Where these are full, each search would look at them in
vain. What a search finds doesn't depend on where it begins (`subset_choice.py`).
"""

from collections.abc import Hashable

from placement.candidates.request import CandidateRequest

#: so many searches begin elsewhere, then one looks at the first trees again
_AGAIN = 16
#: of how many requests something is remembered
_REQUESTS = 256


class PastSearches:
    """Which requests found too little in the first trees, of a cloud and of what it became."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        #: by request, how many of the next searches begin elsewhere
        self._left: dict[Hashable, int] = {}

    def begins_elsewhere(self, request: CandidateRequest) -> bool:
        """Say whether a search should leave out the first trees. Each call counts as a search."""
        if not self._left:
            return False
        key = _key(request)
        left = self._left.get(key, 0)
        if left:
            self._left[key] = left - 1
        return left > 0

    def in_vain(self, request: CandidateRequest) -> None:
        """Note that a search found too little in the first trees."""
        if len(self._left) >= _REQUESTS:
            self._left = {}
        self._left[_key(request)] = _AGAIN


def _key(request: CandidateRequest) -> Hashable:
    groups = [
        (group.suffix, *group.resources.items(), group.required, group.forbidden, group.member_of)
        for group in request.groups
    ]
    return (request.limit, request.root_required, request.isolate, *groups)
