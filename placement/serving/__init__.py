"""How `placement-api` serves: gunicorn's processes, waitress's connections and threads."""
