"""Figures: drawn from tidy CSVs, one file a kind."""
