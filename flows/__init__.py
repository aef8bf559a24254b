"""When: one file, one flow, one deployment."""
