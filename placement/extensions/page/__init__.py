"""The page at /berth/v1/ui/: its files, and the drawings that HTML files of commands share."""
