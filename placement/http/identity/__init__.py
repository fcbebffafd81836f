"""Who asks: tokens, headers, and why they were refused."""
