"""Slow, obvious versions of the objectives and metrics, and tests that compare with them."""
