"""Options of group [image_cache]: where images are kept that disks of guests are made of."""

from oslo_config import cfg

GROUP = "image_cache"

OPTIONS = [
    cfg.StrOpt(
        "subdirectory_name",
        default="_base",
        deprecated_name="image_cache_subdirectory_name",
        deprecated_group="DEFAULT",
        help="The directory of the image cache below `instances_path`. What is in it is reserved "
        "with [workarounds]reserve_disk_resource_for_image_cache.",
    ),
]
