"""Conversations with the service, as its description says."""
