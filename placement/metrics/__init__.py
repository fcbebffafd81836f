"""Counting in memory that all workers share; nothing here knows the service.

`placement.monitoring` makes pages of it.
"""
