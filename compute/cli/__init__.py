"""The programs of the compute side: `berth-compute` and `nova-manage placement …`.

`berth_compute` and `nova_manage` read the command line. `agent` is the agent itself; each command
is a module in `commands`. `access` opens placement, records and drivers for them, `output` prints.
"""
