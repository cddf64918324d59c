"""Encoders: built from a shape, started from other weights, read at their taps."""
