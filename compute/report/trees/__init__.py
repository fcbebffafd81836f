"""Providers and their trees: read, compared, written.

Read `tree_sync` first: it makes placement look like a ProviderTree. `planning` works out the
`steps` between two trees. `tree_write` sends all steps as one write, where placement takes whole
trees; elsewhere each step is one request of `providers`, `properties` or `reshaper`.

`cache` remembers what was read. `trees` and `associations` fill it: provider by provider, or with
`whole_trees` in one request. After a conflict, `recollection` spares most of these reads.
"""
