"""When: one file, one flow, one deployment. `tasks` holds the stages as tasks, `forms` what a person fills in, `tell` what Prefect is told."""
