"""Options of group [keystone_authtoken]: keystonemiddleware's, with our defaults."""

from oslo_config import cfg

GROUP = "keystone_authtoken"
#: our defaults; with keystonemiddleware's own a request waits without limit for a silent keystone
BOUNDS = {"http_connect_timeout": 5, "http_request_max_retries": 1}
#: what oslo.config raises for a `$` that names no other option, most with a part of a password
NO_SUCH_NAME = (
    cfg.NoSuchOptError,
    cfg.NoSuchGroupError,
    cfg.TemplateSubstitutionError,
    # the option itself
    RecursionError,
)


def login_option(conf: cfg.ConfigOpts, name: str) -> str | None:
    """Return an option of the plugin that logs in to keystone, of the section `auth_section` names.

    None: it isn't set, or the plugin has none of this name. The options of the plugin are known
    once keystonemiddleware has made it.
    """
    options = conf[GROUP]
    section = getattr(options, "auth_section", None)
    value = getattr(conf[section] if section else options, name, None)
    return str(value) if value else None


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options for a sample, with those that `auth_type = password` needs.

    This is an entry point in `oslo.config.opts`. Without keystonemiddleware it returns no option.
    """
    try:
        from keystonemiddleware import opts
    except ImportError:
        return []
    from keystoneauth1 import loading

    options = [option for _, found in opts.list_auth_token_opts() for option in found]
    cfg.set_defaults(options, **BOUNDS)
    known = {option.dest for option in options}
    password = loading.get_auth_plugin_conf_options("password")
    return [(GROUP, options + [option for option in password if option.dest not in known])]
