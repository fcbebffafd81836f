"""Commands of `openstack` for the extensions of placement (extensions.md 10).

They are registered beside those of osc-placement. The extra `[osc]` installs what they need.

There is a module for each family of commands: `trees`, `candidates`, `capacity`, `claims`,
`suspects`. `service` sends their requests; `show_one`, `columns` and `exit_codes` have what their
answers share.
"""
