"""The options of a database, as plain values."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class DatabaseSettings:
    """The options of group [placement_database], without oslo.config around them.

    Each field has the name and the meaning of its option.
    """

    connection: str
    connection_parameters: str = ""
    sqlite_synchronous: bool = True
    mysql_sql_mode: str = "TRADITIONAL"
    connection_recycle_time: int = 3600
    max_pool_size: int | None = None
    max_overflow: int | None = None
    pool_timeout: int | None = None
    max_retries: int = 10
    retry_interval: int = 10
    connection_debug: int = 0
    connection_trace: bool = False

    @classmethod
    def of(cls, group: object) -> "DatabaseSettings":
        """Read the settings from the option group [placement_database]."""
        return cls(**{field.name: getattr(group, field.name) for field in dataclasses.fields(cls)})
