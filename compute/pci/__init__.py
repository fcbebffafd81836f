"""PCI devices: `devices` lists and chooses them, `placement_translator` reports them."""
