"""The compute side of placement.

`service` is the running agent and `cli` its programs, `resource_tracker` updates nodes, `report`
talks to placement, `maintenance` is what nova-manage does. doc/architecture.rst has the whole map.
"""
