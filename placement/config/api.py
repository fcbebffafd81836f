"""Options of group [api]."""

from oslo_config import cfg

OPTIONS = [
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=[
            ("keystone", "requests carry keystone tokens, checked by keystonemiddleware"),
            ("noauth2", "the token names the user; for tests and single machines only"),
        ],
        deprecated_group="DEFAULT",
        help="How requests are authenticated.",
    ),
]
