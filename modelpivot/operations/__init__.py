"""Change one thing, then prove it."""
