"""What the operator's provider configuration files add to a node's providers.

`provider_additions` merges the files into a tree. `additions_ownership` keeps track of what is
there only because of a file, so that it can be removed; `applied_configs` remembers that on the
host.
"""
