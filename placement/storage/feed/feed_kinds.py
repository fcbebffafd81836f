"""What a row of the change feed says of its provider."""

import enum


class ChangeKind(enum.IntFlag):
    """The kinds of changes of a provider."""

    ROW = 1  # created, renamed or moved
    INVENTORY = 2
    USAGE = 4
    TRAITS = 8
    AGGREGATES = 16
    DELETED = 32
    NAMES = 64  # a resource class or trait was added, deleted or renamed; without a provider
    OTHERS = 128  # others write to the tables and don't append to the feed; without a provider
    ENDED = 256  # a lane ended; without a provider. See `placement.storage.feed.feed_lanes`


#: the provider id of rows that name no provider
NO_PROVIDER = 0
