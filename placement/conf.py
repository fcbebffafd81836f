"""The service's options under the name that OpenStack Placement has for them."""

from oslo_config import cfg

from placement import config


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register on `conf` the options that it lacks; see :func:`placement.config.register`."""
    config.register(conf)
