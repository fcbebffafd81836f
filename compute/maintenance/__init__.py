"""What `nova-manage placement` does, as a library: no terminal, no exit codes (compute.md §7).

There is a room for each command with a plan of its own: `heal`, `audit`, `drain`, `adopt` and
`migrate`. They share the modules here: `provider_details` reads providers with all that belongs to
them, `journal` notes what a command takes away, `fitting` asks placement where
a flavor fits, `nodes` finds a host's nodes. `devices` and `aggregate_sync` are small commands.
"""
