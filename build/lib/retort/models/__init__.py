"""Encoders: how to build them, initialise their weights and record their activations."""
