"""Tests that run Snakemake on the tiny study."""
