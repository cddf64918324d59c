"""Rebuild the tables and figures of papers on distilling BERT-like encoders."""

__version__ = "1.0.0"
