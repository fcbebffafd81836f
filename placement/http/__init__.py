"""The HTTP layer: everything here works on requests and responses, nothing on providers."""
