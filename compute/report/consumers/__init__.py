"""What consumers hold, ask for and use."""
