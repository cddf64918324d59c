"""Snakemake runs on the tiny study."""
