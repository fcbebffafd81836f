"""What the operator's provider configuration files add to a node's providers."""
