"""Which requests placement answers: it refuses a question in which one request can't be read."""

from collections.abc import Set as AbstractSet

from compute.report.consumers.resource_request import RequestGroup, ResourceRequest

#: the largest amount that placement reads
_MOST = 2**31 - 1
#: how long a query may be in a body. A longer one is too long for a URL, too
_LONGEST = 64 * 1024


def is_askable(request: ResourceRequest, names: AbstractSet[str]) -> bool:
    """Say whether placement reads the request.

    :param names: the resource classes and traits that exist
    """
    groups = request.groups
    together = frozenset[str]().union(*request.same_subtree)
    suffixed = [suffix for suffix in groups if suffix]
    return (
        any(group.resources for group in groups.values())
        and all(group.resources or suffix in together for suffix, group in groups.items())
        and together <= set(suffixed)
        and (len(suffixed) < 2 or request.group_policy is not None)
        and all(_is_readable(group, names) for group in groups.values())
        and request.root_required | request.root_forbidden <= names
        and not request.root_required & request.root_forbidden
        and len(request.to_querystring()) <= _LONGEST
    )


def _is_readable(group: RequestGroup, names: AbstractSet[str]) -> bool:
    required, forbidden = group.required_traits, group.forbidden_traits
    return (
        not required & forbidden
        and required | forbidden | group.resources.keys() <= names
        and all(0 < amount <= _MOST for amount in group.resources.values())
    )
