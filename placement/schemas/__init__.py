"""JSON schemas of request bodies and query strings, one file per URL family.

Each name is a table that maps the first microversion of a schema to the schema. The newest key not
above the request's version applies (:func:`placement.schemas.json_schema.pick`).
"""
