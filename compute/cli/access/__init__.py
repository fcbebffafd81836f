"""How commands reach placement, records, drivers and the network service.

A module each; `placement_access`, over HTTP or on the database, is what all commands need.
"""
