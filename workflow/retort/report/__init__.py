"""The report: one page that holds everything."""
