"""One module of the package at a time."""
