"""Strict pydantic models of every YAML file of a study, which describe all that is compared; no torch needed."""
