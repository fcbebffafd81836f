"""Moving a node's inventory and allocations while its service is down."""
