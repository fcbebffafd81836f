"""What a flavor and an image say, read as nova reads it."""
