"""Request contexts: who asks, and under which request id."""

from oslo_context.context import RequestContext


def admin_context() -> RequestContext:
    """A context for work the service does of its own accord.

    Its `global_id` goes to placement with every request, so that the log lines of one update can
    be found there.
    """
    return RequestContext(is_admin=True)


__all__ = ["RequestContext", "admin_context"]
