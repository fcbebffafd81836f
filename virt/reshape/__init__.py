"""Moving inventory, and the allocations against it, between providers or resource classes.

Everything here works only on a ProviderTree and on the allocations that update_provider_tree gets
(compute.md §6.2), so any driver may use it. Allocations are edited only once the whole move is
known: a ReshapeFailed leaves them as they were.

There is a module for each kind of move: `numa`, `vgpu`, `pcpu`, `memory_encryption`,
`shared_storage`, `resource_class`. `removal` removes providers.
"""
