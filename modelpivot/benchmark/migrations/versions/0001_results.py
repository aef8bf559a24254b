"""Results and the set-ups they were measured with."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        "setups",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("repo", sa.String, nullable=False),
        sa.Column("commit", sa.String(40), nullable=False),
        sa.Column("engine", sa.String, nullable=False),
        sa.Column("engine_version", sa.String, nullable=False),
        sa.Column("freeze_digest", sa.String, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
    )
    op.create_index("setups_by_model", "setups", ["host", "repo"])
    op.create_table(
        "results",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("run_id", sa.String, nullable=False),
        sa.Column("release", sa.String, nullable=False),
        sa.Column("recipe", sa.String, nullable=False),
        sa.Column("recipe_digest", sa.String, nullable=False),
        sa.Column("standing", sa.String(16), nullable=False),
        sa.Column("setup_digest", sa.String(64), sa.ForeignKey("setups.digest"), nullable=False),
        sa.Column("workload", sa.String, nullable=False),
        sa.Column("workload_digest", sa.String(64), nullable=False),
        sa.Column("workload_document", sa.JSON, nullable=False),
        sa.Column("start", sa.String, nullable=False),
        sa.Column("is_valid", sa.Boolean, nullable=False),
        sa.Column("requests", sa.Integer, nullable=False),
        sa.Column("successes", sa.Integer, nullable=False),
        sa.Column("output_tokens_per_s", sa.Float),
        sa.Column("requests_per_s", sa.Float),
        sa.Column("median_ttft_ms", sa.Float),
        sa.Column("median_tpot_ms", sa.Float),
        sa.Column("p99_ttft_ms", sa.Float),
        sa.Column("p99_tpot_ms", sa.Float),
        sa.Column("load_s", sa.Float),
        sa.Column("downtime_s", sa.Float),
        sa.Column("document", sa.JSON, nullable=False),
    )
    op.create_index("results_by_run", "results", ["run_id"])
    op.create_index("results_by_workload", "results", ["workload_digest", "at"])


def downgrade() -> None:
    """Drop both tables, and what they hold."""
    op.drop_table("results")
    op.drop_table("setups")
