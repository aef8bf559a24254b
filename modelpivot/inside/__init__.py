"""Scripts run by the engine's own Python; they import nothing of ours."""
