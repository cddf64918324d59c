"""Tests that hold for every registered entry, whatever it computes."""
