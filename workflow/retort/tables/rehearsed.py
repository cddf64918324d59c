"""Keep numbers of other models than printed, and those of a rehearsal, from being compared with printed ones.

Those of a rehearsal also get a mark, and no claim is judged on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from retort.study.study import Study
from retort.tables.tidy import Line, Status

MARK = "rehearsed: a miniature on made data, which says nothing about the printed number"
NO_JUDGEMENT = "the numbers are rehearsed"


def withhold_verdicts(study: Study, paper: str, lines: list[Line]) -> list[Line]:
    """Remove the verdicts from lines if the scale is not judged on this paper; mark the numbers of a rehearsal."""
    if study.judges(paper):
        return lines
    return [_without_verdict(line, "" if study.scale.claims else MARK) for line in lines]


def _without_verdict(line: Line, mark: str) -> Line:
    note = "; ".join(filter(None, (mark if line.mean is not None or line.dev is not None else "", line.note)))
    tests = {"low": None, "high": None, "p": None, "p_holm": None, "p_equivalence": None, "margin": None}
    changed: dict[str, Any] = {**tests, "note": note, "verdict": "", "assumes": "", "runs_needed": ""}
    return replace(line, **changed)


def for_claims(study: Study, tables: Mapping[str, list[Line]]) -> dict[str, list[Line]]:
    """Return the lines on which claims are judged; without numbers at a scale that judges no claims."""
    return {
        name: lines if study.scale.claims else [_without_number(line) for line in lines]
        for name, lines in tables.items()
    }


def _without_number(line: Line) -> Line:
    return replace(line, mean=None, std=None, dev=None, status=Status.NOT_RUN, reason=NO_JUDGEMENT)
