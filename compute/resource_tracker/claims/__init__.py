"""Claims: giving instances a share of a node, and taking it back."""
