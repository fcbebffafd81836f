"""Moving inventory, and the allocations against it, between providers or resource classes.

Everything here works on a ProviderTree and on the dict of allocations that update_provider_tree is
handed (compute.md §6.2) and on nothing else, so that any driver may use it. Allocations are edited
only once the whole move is known: a ReshapeFailed leaves them as they were.
"""
