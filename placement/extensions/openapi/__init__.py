"""The description of the API as OpenAPI, made from what the service itself judges by.

Routes, schemas of requests and responses, errors and policies are the one truth (extensions.md 11).
Begin with `document.py`: it describes one microversion with `parameters.py`, `forms.py`,
`answers.py` and `links.py`. `history.py` joins the descriptions of all microversions.
`texts.py` keeps the result as JSON and as YAML.
"""
