"""Requests to placement: how they are sent, and what their answers mean.

Read `transport` first: it sends every request. `unreachable` says what is done where placement
doesn't answer. `status_contract` knows which answers are placement's own. `failures` says to
operators why a request failed. `extensions` sends requests that only Berth answers. `context` has
the request id that placement logs.
"""
