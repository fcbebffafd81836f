"""What operators ask of a running service: its health, and pages for Prometheus.

`health.py` is the report of a worker's health. `page.py` is /metrics: what the workers counted
(`counted.py`, in the memory that `counting.py` chooses), what the cloud has (`cloud.py`), and how
many suspects there are (`suspected.py`). `providers.py` is /metrics/providers. `aside.py` does
their work on a thread, so that no page waits for long if the database doesn't answer. `access.py`
and `port.py` say who may read the pages.
"""
