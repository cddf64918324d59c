"""Claims and numbers by hand: rows and columns have letters as names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from retort.judgement.comparisons import Reached
from retort.judgement.judge import Side, claim_frame, facts_of
from retort.specs.paper import Statement
from retort.specs.reported import Number


def claim(compare: str, rows: Iterable[str], than: Iterable[str] = "", columns: str = "c", **more: Any) -> Statement:
    """Return a claim about some rows and columns of table 1."""
    sides = {"cells": rows, "than": than} if than else {"cells": rows}
    groups = {key: [{"table": "table1", "rows": [*named], "columns": [*columns]}] for key, named in sides.items()}
    return Statement.model_validate({"says": "x", "where": "y", "compare": compare, **groups, **more})


def side_of(means: Mapping[Any, float], std: float | None = 1.0, n: int = 4, unit: str = "x100") -> Side:
    """Return means of ours: row and column, such as 'ac' -> mean."""
    cells = {("table1", *at): facts_of(Number(f"{mean}", mean), n, std, unit=unit) for at, mean in means.items()}
    return Side(claim_frame(cells), Reached)  # type: ignore[arg-type]


def by_seed(scores: Mapping[str, Iterable[float]], paired: bool = True, first: int = 1) -> Side:
    """Return rows of one column by their scores under the seeds 1, 2, ..., which are known or not."""
    cells = {}
    for row, values in scores.items():
        runs = [float(value) for value in values]
        number, seeds = Number("", float(np.mean(runs))), tuple(enumerate(runs, start=first)) if paired else ()
        cells["table1", row, "c"] = facts_of(number, len(runs), float(np.std(runs, ddof=1)), seeds, "x100")
    return Side(claim_frame(cells), Reached)
