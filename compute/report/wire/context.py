"""Request contexts: on whose behalf the service works, and the id of its requests."""

from oslo_context.context import RequestContext


def admin_context() -> RequestContext:
    """Return a context for work that the service begins itself.

    Its `global_id` goes to placement with every request, so that placement's log lines about one
    update can be found.
    """
    return RequestContext(is_admin=True)


__all__ = ["RequestContext", "admin_context"]
