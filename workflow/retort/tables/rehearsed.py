"""Numbers of a rehearsal: they are printed with a mark, and never judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from retort.study.study import Study
from retort.tables.tidy import Line, Status

MARK = "rehearsed: a miniature on made data, which says nothing about the printed number"
NO_JUDGEMENT = "the numbers are rehearsed"


def marked(study: Study, lines: list[Line]) -> list[Line]:
    """Return the lines of a table or figure; at a scale that is not judged, with a mark and without verdicts."""
    return lines if study.scale.judged else [_marked(line) for line in lines]


def _marked(line: Line) -> Line:
    note = "; ".join(filter(None, (MARK if line.mean is not None or line.dev is not None else "", line.note)))
    tests = {"low": None, "high": None, "p": None, "p_holm": None, "p_equivalence": None, "margin": None}
    changed: dict[str, Any] = {**tests, "note": note, "verdict": "", "assumes": "", "runs_needed": ""}
    return replace(line, **changed)


def for_claims(study: Study, tables: Mapping[str, list[Line]]) -> dict[str, list[Line]]:
    """Return the lines from which claims are judged; at a scale that is not judged, they have no numbers."""
    return {
        name: lines if study.scale.judged else [_without_number(line) for line in lines]
        for name, lines in tables.items()
    }


def _without_number(line: Line) -> Line:
    return replace(line, mean=None, std=None, status=Status.NOT_RUN, reason=NO_JUDGEMENT)
