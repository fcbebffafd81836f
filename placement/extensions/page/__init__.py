"""The page at /berth/v1/ui/: its files, and the drawings that HTML files of commands share.

`serving.py` answers with the files that `files.py` reads from `static/`. `drawing_file.py` makes
one HTML file of some of them. The page asks the API like any other client.
"""
