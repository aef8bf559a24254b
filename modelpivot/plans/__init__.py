"""Decide: pure functions over facts, recipes and configuration."""
