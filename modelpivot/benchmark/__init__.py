"""Measure what is served."""
