"""Queries and answers of /berth/v1/openapi.json and .yaml (extensions.md 11)."""

from placement.errors import DuplicateKey
from placement.http.environ import DESCRIPTIONS
from placement.microversions import HISTORY, name
from placement.schemas.answer_shapes import AnswerTable
from placement.schemas.answer_tables import done, extension_answers
from placement.schemas.json_schema import Json, Schema, closed_object

#: each may be given once
OWN: Json = {"microversion": {"enum": [*map(name, HISTORY), "latest"]}}
LIST = {(1, 0): Schema(closed_object(OWN), exact_ends=True)}

_DOCUMENT: Json = {
    "type": "object",
    "properties": {
        "openapi": {"const": "3.1.0"},
        "info": {"type": "object"},
        "paths": {"type": "object"},
        "components": {"type": "object"},
    },
    "required": ["openapi", "info", "paths", "components"],
}
#: as JSON or as YAML
DESCRIBED: AnswerTable = {(1, 0): Schema(_DOCUMENT)}

_ANSWERS = extension_answers({200: DESCRIBED, 304: done(0)}, DuplicateKey)
QUERIES = dict.fromkeys(DESCRIPTIONS, LIST)
RESPONSES = {path: {"GET": _ANSWERS} for path in DESCRIPTIONS}
