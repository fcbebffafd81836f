"""What the configuration says of how nova's scheduler asks placement."""

from oslo_config import cfg

from compute.cli.command_line import UnusableInput
from compute.requests.pci_aliases import BadAlias, aliases_of
from compute.requests.settings import Settings


def request_settings(conf: cfg.ConfigOpts) -> Settings:
    """Return the settings; raise UnusableInput for an alias that is none."""
    in_placement = conf.filter_scheduler.pci_in_placement
    try:
        aliases = aliases_of(conf.pci.alias, in_placement)
    except BadAlias as error:
        raise UnusableInput(error) from error
    return Settings(
        query_placement_for_image_type_support=(
            conf.scheduler.query_placement_for_image_type_support
        ),
        image_metadata_prefilter=conf.scheduler.image_metadata_prefilter,
        pci_in_placement=in_placement,
        pci_aliases=aliases,
        owner_trait=conf.berth.owner_trait,
    )
