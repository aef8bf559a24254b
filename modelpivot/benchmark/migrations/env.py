"""Run by Alembic, always with a connection of ours: `store.py` gives it."""

from alembic import context

from modelpivot.benchmark.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
