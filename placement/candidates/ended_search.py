"""What is said of a search that was ended before it was finished."""

import collections
import math

from placement.candidates.budget import Abandoned, Budget, OutOfTime, Searched, SearchEnded
from placement.candidates.cloud.snapshot import Snapshot
from placement.errors import PlacementError, SearchAbandoned, SearchUnfinished

#: how many kinds of groups are named
_MOST_NAMED = 6
#: how many groups of a kind are named
_MOST_SUFFIXES = 4
#: larger numbers are rounded
_MOST_EXACT = 10**15
_MIB = 1024 * 1024


def error_of(ended: SearchEnded, snapshot: Snapshot, budget: Budget) -> PlacementError:
    """Return the error to answer with."""
    if isinstance(ended, Abandoned):
        return SearchAbandoned()
    sentences = []
    if ended.problem is not None:
        sentences.append(_combinations(ended.problem, snapshot))
    if ended.count is None:
        sentences.append("Whether there are candidates that it didn't find is not known.")
    else:
        sentences.append(f"There are at least {_number(ended.count)} candidates.")
    return SearchUnfinished(ended=what_ended(ended, budget), what=" ".join(sentences))


def what_ended(ended: SearchEnded, budget: Budget) -> str:
    """Return the reason, as the end of a sentence."""
    if isinstance(ended, Abandoned):
        return "because the client left"
    if isinstance(ended, OutOfTime) and budget.is_shortened:
        return f"after {round(budget.seconds or 0, 2):g} seconds, which were all that it had"
    if isinstance(ended, OutOfTime):
        return f"after {budget.seconds:g} seconds ([berth]search_time_limit)"
    return (
        f"because its candidates would take more than {(budget.size or 0) // _MIB} MiB "
        "([berth]search_memory_limit)"
    )


def _combinations(problem: Searched, snapshot: Snapshot) -> str:
    """Return the sentence that says which combinations are too many."""
    suffixes: dict[int, list[str]] = collections.defaultdict(list)
    for suffix, count in problem.options():
        suffixes[count].append(suffix)
    kinds = sorted(suffixes.items(), reverse=True)
    named = [_named(of_kind, count) for count, of_kind in kinds[:_MOST_NAMED]]
    if len(kinds) > _MOST_NAMED:
        named.append("and so on")
    where = "a tree"
    if problem.root is not None:
        where = f"the tree of resource provider {snapshot.register.uuids[problem.root]}"
    return (
        f"In {where} there are {_number(problem.combinations())} combinations to look through: "
        f"{'; '.join(named)}."
    )


def _named(suffixes: list[str], count: int) -> str:
    providers = "1 provider" if count == 1 else f"{count} providers"
    names = [suffix or "without suffix" for suffix in dict.fromkeys(suffixes)]
    shown = ", ".join(names[:_MOST_SUFFIXES])
    if len(names) > _MOST_SUFFIXES:
        shown += f" and {len(names) - _MOST_SUFFIXES} more"
    if len(suffixes) == 1:
        return f"{providers} for group {shown}"
    return f"{providers} for each of {len(suffixes)} groups or classes ({shown})"


def _number(number: int) -> str:
    return f"{number:,}" if number < _MOST_EXACT else f"about 10^{math.floor(math.log10(number))}"
