"""Metrics, by name, of the answers to a split of a task."""
