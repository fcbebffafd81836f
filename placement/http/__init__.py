"""What knows HTTP and nothing of providers."""
