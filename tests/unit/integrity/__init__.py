"""Tests that results prove themselves."""
