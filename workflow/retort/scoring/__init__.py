"""Metrics by name, on a split of a task."""
