"""Where our service is meant to differ from the reference, and nowhere else. Each says why."""

import re
from collections.abc import Callable
from typing import NamedTuple

from tests.reference.answers import Answer
from tests.reference.picture import Picture
from tests.reference.script import Request


class Deviation(NamedTuple):
    """A difference that is accepted.

    :param reason: what the reference does and why ours doesn't
    :param applies: says of a request and the reference's and our answer whether this is the case
    """

    reason: str
    applies: Callable[[Request, Answer, Answer], bool]


def _broke(reference: Answer, ours: Answer) -> bool:
    return reference.status == 500 and ours.status < 500


DEVIATIONS: tuple[Deviation, ...] = ()


def accepted(request: Request, reference: Answer, ours: Answer) -> str | None:
    """The reason why the two answers may differ, or None if they may not."""
    for deviation in DEVIATIONS:
        if deviation.applies(request, reference, ours):
            return deviation.reason
    return None


UNKNOWN_PROVIDER = re.compile(r"Allocation for resource provider '.*' that does not exist\.")


def orphans(request: Request, reference: Answer, before: Picture, theirs: Picture, ours: Picture) -> list[str]:
    """Consumers that the reference kept of a request that it refused.

    When allocations name an unknown provider, the reference answers 400 but keeps the consumers
    that it has created for the request, with generation 0; a retry of the same request then fails
    with a generation conflict. With us refused means that nothing changed (rest-api.md section 9,
    oddity 7). The comparison goes on without these consumers.
    """
    if reference.status != 400 or not UNKNOWN_PROVIDER.fullmatch(reference.refused_with):
        return []
    return [
        uuid
        for uuid, consumer in theirs.consumers.items()
        if uuid not in before.consumers
        and uuid not in ours.consumers
        and consumer.generation == 0
        and not theirs.held(uuid)
    ]
