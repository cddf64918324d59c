"""The screen of a run on a terminal: a bar, the time left, the running jobs, and warnings."""
