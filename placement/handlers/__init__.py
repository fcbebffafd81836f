"""One file per URL family: may you, what do you want, do it, answer."""
