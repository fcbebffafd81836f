"""Lists of providers that the database answers (rest-api.md 3.1)."""

import dataclasses
import datetime
from collections.abc import Callable, Sequence

from placement.domain.provider_filter import ProviderFilter
from placement.storage import provider_search
from placement.storage.database.engine import Database
from placement.storage.provider_list import Listed

#: lists that the database answers before the snapshot is loaded for lists alone: loading it costs
#: about as much as so many long lists
WITHOUT_SNAPSHOT = 25

#: writes a provider as JSON
Write = Callable[[Listed], bytes]


@dataclasses.dataclass(frozen=True)
class ListedProviders:
    """Providers as JSON, ordered by id.

    :param texts: one or several in each, separated by a comma and a space
    :param modified: when one of them last changed; None: not known, or there are none
    """

    texts: Sequence[bytes]
    modified: datetime.datetime | None


class DatabaseLists:
    """Asks the database for lists, and counts them until the snapshot of searches pays."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count = 0

    def find(self, wanted: ProviderFilter, write: Write) -> ListedProviders:
        """Return the providers that pass.

        Raises BadRequest for traits and resource classes that don't exist.
        """
        listed = provider_search.find(self._database, wanted)
        return ListedProviders([write(each) for each in listed.providers], listed.modified)

    def is_worth_loading(self, wanted: ProviderFilter) -> bool:
        """Count a list; say whether there were so many that loading the snapshot pays."""
        if wanted.uuid is not None:
            return False
        self._count += 1
        return self._count > WITHOUT_SNAPSHOT

    def loaded(self) -> None:
        """Begin to count anew, because the snapshot is loaded."""
        self._count = 0
