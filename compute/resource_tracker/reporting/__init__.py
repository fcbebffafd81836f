"""Reporting a node to placement and to the cell database."""
