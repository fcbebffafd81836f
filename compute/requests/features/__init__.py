"""What the features of a guest ask for, and which of them nova refuses."""
