"""The report: an index, a page a paper, and the audit; each holds all that it needs."""
