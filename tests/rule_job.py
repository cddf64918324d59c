"""A stand-in for the object that Snakemake hands to the script of a rule."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def rule_job(**more: Any) -> SimpleNamespace:
    """Return a job of a rule without inputs and outputs, except for what is named."""
    plain: dict[str, Any] = {"rule": "rule", "wildcards": ["a"], "log": [], "threads": 1, "resources": {}}
    return SimpleNamespace(**(plain | {"config": {}, "input": [], "output": [], "params": {}} | more))
