"""What Snakemake hands to the script of a rule, for tests of what scripts do with it."""

from __future__ import annotations

from typing import Any

from retort.run.rehearsal.in_process import Described, Named


def rule_job(**more: Any) -> Described:
    """Return a job of a rule, which makes results/made/a.json, except for what is named.

    Inputs, outputs and params are dictionaries of names, or lists without names.
    """
    parts = {"wildcards": {"name": "a"}, "input": {}, "output": ["results/made/a.json"], "params": {}}
    plain: dict[str, Any] = {"rule": "rule", "log": ["rule.a.log"], "config": {}, "resources": {}}
    for part, given in parts.items():
        value: Any = more.pop(part, given)
        plain[part] = Named(value if isinstance(value, dict) else {"unnamed": list(value)})
    return Described(**(plain | more))
