"""Rebuild the tables and figures of papers on distilling BERT-like encoders."""
