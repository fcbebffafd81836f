"""Which searches of the last hour found nothing, by all workers: `placement.metrics` counts."""
