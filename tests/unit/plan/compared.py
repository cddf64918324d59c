"""The rules of the workflow and those of the table of jobs, each described by its parts, so that they can be compared.

A Snakefile that includes the workflow's calls `write`, with what only a Snakefile has: Snakemake's rules and the plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from retort.plan.job_table import rules_of
from retort.plan.plan import Plan
from retort.plan.rule import Rule

FILE = Path("compared.json")
CONSTRAINT = re.compile(r"{(\w+),([^{}]+)}")


def named_settings(plan: Plan, job_type: str, *names: str) -> str:
    """Return a name of what `Plan.at` returns, in place of a function, which equals no other."""
    return f"settings: {' '.join([job_type, *names])}"


def write(rules: Iterable[Any], plan: Plan) -> None:
    """Write what Snakemake knows of the rules, and what the table knows of them.

    Args:
        rules: Snakemake's rules.
        plan: the plan, whose settings have names.
    """
    sides = {
        "snakemake": {rule.name: of_snakemake(rule) for rule in rules if rule.name != "all"},
        "table": {rule.name: of_table(rule) for rule in rules_of(plan)},
    }
    FILE.write_text(json.dumps(sides))


def of_snakemake(rule: Any) -> dict[str, Any]:
    """Return the parts of a rule of Snakemake."""
    constrained = {name: text for path in rule.output for name, text in CONSTRAINT.findall(path)}
    return {
        **parts(rule.output.items(), rule.input.items(), rule.params.items()),
        "log": [without_constraints(path) for path in rule.log],
        "script": Path(rule.script).stem,
        "constraints": constrained,
        "own constraints": dict(rule.wildcard_constraints),
    }


def of_table(rule: Rule) -> dict[str, Any]:
    """Return the parts of a rule of the table."""
    return {
        **parts(rule.outputs.items(), rule.inputs.items(), rule.params.items()),
        "log": [rule.log],
        "script": rule.script or rule.name,
        "constraints": {name: text for name, text in rule.constraints.items() if name in rule.wildcards},
    }


Named = Iterable[tuple[str, Any]]


def parts(outputs: Named, inputs: Named, params: Named) -> dict[str, Mapping[str, Any]]:
    """Return outputs, inputs and params by name; weights that nobody keeps, an output without a path, are none."""
    made = {name: described(value) for name, value in outputs}
    return {
        "outputs": {name: value for name, value in made.items() if value != []},
        "inputs": {name: described(value) for name, value in inputs},
        "params": {name: described(value) for name, value in params},
    }


def described(value: Any) -> Any:
    """Return paths without the constraints of their wildcards, and the names of functions that give paths or params."""
    if callable(value):
        return name_of(value)
    if isinstance(value, str):
        return without_constraints(value)
    return [described(each) for each in value] if isinstance(value, list) else value


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function, or the class and name of a method: some are made without a name of their own."""
    if not (owner := getattr(function, "__self__", None)):
        return function.__qualname__
    (name,) = (name for name, value in vars(type(owner)).items() if value is function.__func__)
    return f"{type(owner).__name__}.{name}"


def without_constraints(path: str) -> str:
    """Return a path with its wildcards as they are written."""
    return CONSTRAINT.sub(r"{\1}", str(path))
