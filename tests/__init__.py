"""Tests: contracts, references, units, and the workflow on a tiny study."""
