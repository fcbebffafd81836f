"""Profiles of requests by osprofiler, if `[profiler]enabled` is set (rest-api.md 1.11)."""

import importlib.util
import logging
import socket

from oslo_config import cfg

from placement.http.environ import WSGIApplication

LOG = logging.getLogger(__name__)

GROUP = "profiler"
#: recognised without osprofiler, so that a configuration with the group gets a warning
ENABLED = cfg.BoolOpt("enabled", default=False, help="Whether requests are profiled.")


def profiled(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Wrap the application in osprofiler's middleware if the configuration enables it.

    The middleware traces requests whose header `X-Trace-Info` is signed with one of
    `[profiler]hmac_keys`. Without osprofiler a warning is logged, and nothing is traced.
    """
    if importlib.util.find_spec("osprofiler") is None:
        conf.register_opt(ENABLED, group=GROUP)
        if conf[GROUP].enabled:
            LOG.warning(
                "[profiler]enabled has no effect: install openstack-berth[profiler], or the "
                "package osprofiler."
            )
        return application

    from osprofiler import opts

    opts.set_defaults(conf)
    if not conf[GROUP].enabled:
        return application

    from osprofiler import initializer, web

    initializer.init_from_conf(
        conf=conf, context={}, project="placement", service="placement", host=socket.gethostname()
    )
    middleware: WSGIApplication = web.WsgiMiddleware(
        application, hmac_keys=conf[GROUP].hmac_keys, enabled=True
    )
    return middleware
