"""The report client: what the compute side tells placement, and learns from it."""

from compute.report.client import SchedulerReportClient, report_client_singleton

__all__ = ["SchedulerReportClient", "report_client_singleton"]
