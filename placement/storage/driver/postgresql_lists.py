"""Lists of ids and texts as PostgreSQL's driver writes them."""

from typing import Any

from sqlalchemy.dialects.postgresql import ARRAY


class List(ARRAY[Any]):
    """An array whose values the driver writes itself: SQLAlchemy would look at each one first."""

    cache_ok = True
    render_bind_cast = True

    def adapt(self, cls: type[Any], **options: Any) -> Any:
        """Return this type where SQLAlchemy asks for a driver's own one."""
        return List(self.item_type)

    def bind_processor(self, dialect: object) -> None:
        """Return nothing: there is nothing to convert."""
        return
