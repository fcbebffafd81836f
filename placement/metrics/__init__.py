"""Counting in memory that all workers share; nothing here knows the service.

`placement.extensions.monitoring` makes pages of it.
"""
