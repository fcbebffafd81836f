"""Options of group [scheduler]: how candidates are asked for."""

from oslo_config import cfg

GROUP = "scheduler"

OPTIONS = [
    cfg.IntOpt(
        "max_placement_results",
        default=1000,
        min=1,
        help="Limit given to GET /allocation_candidates.",
    ),
    cfg.BoolOpt(
        "query_placement_for_image_type_support",
        default=False,
        help="The scheduler asks for hosts that can boot an image of the guest's format. Give what "
        "nova's scheduler has: commands translate flavors and images as it does.",
    ),
    cfg.BoolOpt(
        "image_metadata_prefilter",
        default=False,
        help="The scheduler asks for hosts that have the devices that an image names: bus, video, "
        "network, architecture. Give what nova's scheduler has.",
    ),
]
