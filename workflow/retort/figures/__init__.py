"""Figures: draw tidy CSVs; one module per kind of figure."""
