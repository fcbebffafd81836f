"""The few kinds of failures that metrics tell apart."""

from compute import exceptions
from compute.report.wire.failures import UNCONNECTED, causes, has_no_connection, refused_access

OTHER = "other"
_BY_CLASS: tuple[tuple[str, tuple[type[BaseException], ...]], ...] = (
    ("reshape", (exceptions.ReshapeFailed, exceptions.ReshapeNeeded)),
    ("conflict", (exceptions.PlacementAPIConflict,)),
    ("driver", (exceptions.VirtDriverNotReady, exceptions.ComputeHostNotFound)),
    (
        "configuration",
        (
            exceptions.InvalidConfiguration,
            exceptions.ProviderConfigException,
            exceptions.PlacementPciException,
        ),
    ),
)
#: every value of the label `kind`
KINDS = (*(kind for kind, _ in _BY_CLASS), "refused", "unreachable", OTHER)


def kind_of(failure: BaseException) -> str:
    """Return which of KINDS a failure is."""
    for kind, classes in _BY_CLASS:
        if isinstance(failure, classes):
            return kind
    if refused_access(failure):
        return "refused"
    if has_no_connection(failure) or any(isinstance(one, UNCONNECTED) for one in causes(failure)):
        return "unreachable"
    return OTHER
