"""Measure this machine: kernels, steps and their memory, the speed of training, the time of a forward pass."""
