"""Request contexts: on whose behalf the service works, and the id of its requests."""

from typing import Protocol

from oslo_context.context import RequestContext


class TracedContext(Protocol):
    """All that the report client reads of a context. RequestContext has it, and nova's has it."""

    @property
    def global_id(self) -> str | None:
        """Return the request id that placement's log lines about this context carry."""


#: of whatever a request is sent for; None: placement makes up a request id of its own
Context = TracedContext | None


def admin_context() -> RequestContext:
    """Return a context for work that the service begins itself.

    Its `global_id` goes to placement with every request, so that placement's log lines about one
    update can be found.
    """
    return RequestContext(is_admin=True)


__all__ = ["Context", "RequestContext", "TracedContext", "admin_context"]
