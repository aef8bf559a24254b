"""How the history's tables came to be, for Alembic. `modelpivot/benchmark/store.py` brings a database up to the newest one when it opens it."""
