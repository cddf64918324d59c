"""The slow, obvious version of every objective, and the comparison with it."""
