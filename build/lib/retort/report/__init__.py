"""The report: an index, one page per paper, and the audit; each page is one self-contained file."""
