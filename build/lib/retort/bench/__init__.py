"""Measure this machine: the cost of objectives, the speed of training, the time of a forward pass."""
