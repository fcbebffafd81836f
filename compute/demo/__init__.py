"""The demonstration: a placement service, an agent, and a reshape on this very machine.

`python -m compute.demo` starts everything itself, on loopback, in a temporary directory.
"""
