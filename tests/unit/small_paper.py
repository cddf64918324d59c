"""A made-up study of one paper that prints its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from retort.audit import audit
from retort.audit.base import Finding
from retort.specs.config import read_config
from retort.study.load import open_study

from tests.unit.printed_tables import with_block

FACTS = {
    "coin": {"sizes": {"train": 1000, "dev": 100, "test": 50}, "floors": {"accuracy": 60.0}, "source": "counted"},
    "qa": {"sizes": {"dev": 10}, "source": "counted"},
}
ACC = {"label": "Coin", "task": "coin", "metric": "accuracy"}
COMMON = {"title": "T", "question": "Q?", "split": "dev", "runs": 1}


def table(columns: list[dict[str, Any]], cells: dict[str, str], numbers: int, **more: Any) -> dict[str, Any]:
    """Return a printed table; each row's label is also the name of its model."""
    rows = [{"label": label, "planned": f"some-{label}", "cells": text} for label, text in cells.items()]
    return with_block({"kind": "scores", **COMMON, "columns": columns, "rows": rows, "numbers": numbers, **more})


def study_config(folder: Path, statements: Any = None, **tables: Any) -> dict[str, Any]:
    """Write a study of one paper that prints these tables, and return its configuration."""
    paper = folder / "study/papers/some"
    paper.mkdir(parents=True)
    (folder / "study/facts.yaml").write_text(yaml.safe_dump(FACTS))
    (paper / "paper.yaml").write_text(json.dumps({"title": "A <b> & c", "reference": "R", "show": list(tables)}))
    for name, content in tables.items():
        (paper / f"{name}.yaml").write_text(json.dumps(content))
    if statements:
        (paper / "audit.yaml").write_text(json.dumps(statements))
    return {"papers": ["some"], "study": str(folder / "study")}


def found(folder: Path, check: str, **given: Any) -> list[Finding]:
    """Return what one check finds in a study."""
    return audit(open_study(read_config(study_config(folder, **given))))[check].findings
