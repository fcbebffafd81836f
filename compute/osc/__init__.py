"""Commands of `openstack` for the extensions of placement (extensions.md 10).

They are registered beside those of osc-placement. The extra `[osc]` installs what they need.
"""
