"""JSON schemas of request bodies and query strings, one file per URL family.

Each name is a table from the first microversion of a shape to its schema, written out; the newest
key not above the request's version applies (:func:`placement.microversions.pick`).
"""
