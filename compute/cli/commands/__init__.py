"""The commands of nova-manage placement, one module each, and what they print.

A command reads its options, opens what it needs, and calls `compute.maintenance`, which does the
work. `*_report` modules print what a command of that name finds; `fitting_commands` and
`tree_commands` have what several commands share.
"""
