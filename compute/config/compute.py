"""Options of group [compute]: what is reported, and how often it is read back from placement."""

from oslo_config import cfg

GROUP = "compute"

OPTIONS = [
    cfg.StrOpt("cpu_shared_set", help="Host processors for VCPU, like `4-12,^8,15`."),
    cfg.StrOpt("cpu_dedicated_set", help="Host processors for PCPU, like `4-12,^8,15`."),
    cfg.IntOpt(
        "resource_provider_association_refresh",
        default=300,
        min=0,
        mutable=True,
        help="Seconds after which inventories, aggregates and traits of a provider are read again "
        "from placement. 0: only once.",
    ),
    cfg.IntOpt(
        "sharing_providers_max_uuids_per_request",
        default=200,
        min=1,
        help="How many aggregates one request for sharing providers may name.",
    ),
    cfg.StrOpt(
        "provider_config_location",
        default="/etc/nova/provider_config/",
        help="Directory of the operator's provider configuration files; their names end in .yaml.",
    ),
    cfg.ListOpt(
        "image_type_exclude_list",
        default=[],
        help="Image formats that are not offered although the driver supports them.",
    ),
    cfg.StrOpt(
        "allocation_writer",
        default="auto",
        choices=[
            ("scheduler", "allocations are made before an instance arrives; never written here"),
            ("tracker", "the resource tracker writes the allocations of its instances"),
            ("auto", "the tracker writes them only for instances that have none"),
        ],
        help="Who writes the allocations of instances.",
    ),
]
