"""Requests to placement: how they are sent, what is promised, why they failed."""
