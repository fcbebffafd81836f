"""The server of `placement-api`: gunicorn's processes, with waitress's connections and threads."""
