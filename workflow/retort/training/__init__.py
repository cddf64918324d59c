"""One loop, one optimiser, and state that survives a kill."""
