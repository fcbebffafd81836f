"""The errors that Berth returns, each with its HTTP status and error code (rest-api.md 1.6, 1.7).

Operations and rules raise these errors; :mod:`placement.http.error_body` renders them. A handler
uses :func:`worded` to replace an error's own text. All are imported from here; three files have
them by what a client can do:

* ``request_errors``: send another request
* ``state_errors``: read what is stored, and then decide
* ``service_errors``: try again later
"""

from placement.errors.placement_error import PlacementError as PlacementError
from placement.errors.placement_error import codes_of as codes_of
from placement.errors.placement_error import kinds_of as kinds_of
from placement.errors.placement_error import worded as worded
from placement.errors.request_errors import *  # noqa: F403 – this is where users import them from
from placement.errors.service_errors import *  # noqa: F403
from placement.errors.state_errors import *  # noqa: F403
