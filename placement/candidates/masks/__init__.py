"""From groups to masks: which providers can serve what."""
