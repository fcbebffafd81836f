"""One file per URL family. A handler authorizes, reads the request, acts, builds the response."""
