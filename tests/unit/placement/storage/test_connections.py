"""Engines for the configured database."""

from placement.storage.database.engine import Database, DatabaseSettings


def test_pool_settings_reach_the_pool(tmp_path):
    settings = DatabaseSettings(f"sqlite:///{tmp_path}/n.db", max_pool_size=3, pool_timeout=7)
    pool = Database(settings).engine.pool
    assert (pool.size(), pool.timeout()) == (3, 7)
