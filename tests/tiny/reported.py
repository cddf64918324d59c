"""A second paper of the tiny study, which prints its tables and runs nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from retort.audit import audit
from retort.audit.base import Finding
from retort.specs.reported import TextRow, header_lines, read_number, row_names

from tests.tiny.edit import write
from tests.tiny.make import STUDY
from tests.tiny.results import opened
from tests.tiny.variant import TABLE, UNREPORTED

FACTS = {
    "coin": {"sizes": {"train": 1000, "dev": 100, "test": 50}, "floors": {"accuracy": 60.0}, "source": "counted"},
    "qa": {"sizes": {"dev": 10}, "source": "counted"},
}
ACC = {"label": "Coin", "task": "coin", "metric": "accuracy"}
MEAN = [ACC, {**ACC, "label": "Other", "task": "qa"}, {"label": "Avg", "mean_of": ["Coin", "Other"]}]
COMMON = {"title": "T", "question": "Q?", "split": "dev", "runs": 1}


def with_block(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table whose rows each give their cells, split by '|', with a block of these cells and their count."""
    rows = [TextRow(label=row["label"], group=row.get("group", "")) for row in table["rows"]]
    heads = header_lines(
        table.get("stub", []), [(column.get("heading", ""), column["label"]) for column in table["columns"]]
    )
    lines = [" | ".join(fields) for fields in heads]
    lines += [f"{name} | {row['cells']}" for name, row in zip(row_names(rows), table["rows"], strict=True)]
    kept = [{key: value for key, value in row.items() if key != "cells"} for row in table["rows"]]
    numbers = sum(read_number(text.strip()) is not None for row in table["rows"] for text in row["cells"].split("|"))
    return {"numbers": numbers, **table, "rows": kept, "reported": "\n".join(lines)}


def table(columns: list[dict[str, Any]], cells: dict[str, str], **more: Any) -> dict[str, Any]:
    """Return a reported table; each row's label is also the name of its model."""
    rows = [{"label": label, "planned": f"some-{label}", "cells": text} for label, text in cells.items()]
    return with_block({"kind": "scores", **COMMON, "columns": columns, "rows": rows, **more})


def as_reported(rows: list[dict[str, Any]], columns: Any = TABLE["columns"], **more: Any) -> dict[str, Any]:
    """Return table 1 of the variant as a paper reports it, with these rows and their cells."""
    return with_block({**UNREPORTED, "columns": columns, "rows": rows, **more})


def study_config(folder: Path, statements: Any = None, **tables: Any) -> dict[str, Any]:
    """Copy the tiny study, add a paper that reports these tables, and return the configuration of that paper alone."""
    study = folder / "study"
    shutil.copytree(STUDY, study)
    write(study, "facts.yaml", FACTS)
    write(study, "papers/some/paper.yaml", {"title": "A <b> & c", "reference": "R", "show": list(tables)})
    for name, content in tables.items():
        write(study, f"papers/some/{name}.yaml", content)
    if statements:
        write(study, "papers/some/audit.yaml", statements)
    return {"papers": ["some"], "study": str(study)}


def found(folder: Path, check: str, **given: Any) -> list[Finding]:
    """Return what one check finds in a study."""
    return audit(opened(study_config(folder, **given)))[check].findings
