"""Decide each claim of a paper on our numbers: those of a run, or recorded ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from retort.specs.formatters import number as formatted
from retort.specs.judging import assumed_std_of
from retort.specs.printed import Number
from retort.specs.recording import Recording
from retort.study.study import Study
from retort.tables.certainty import Outcome, outcome
from retort.tables.comparison_types import NumberedCell, Reached
from retort.tables.judge import Coverage, Side, ours
from retort.tables.tidy import Line


@dataclass(frozen=True)
class ClaimsByOutcome:
    """The names of a paper's claims, each in the list of its outcome.

    Args:
        hold: claims that the numbers show to be true.
        fail: claims that the numbers show to be false.
        undecided: claims that other runs may turn -> the runs of each student that would decide them; 0 for more than
            were tried; None if a deviation is not known.
        so_far: claims that are true of the cells with a number, while other cells have none -> how many have one.
        not_so_far: the same for claims that are false of the cells with a number.
        without: claims that cannot be decided, because a number is missing.
    """

    hold: list[str] = field(default_factory=list)
    fail: list[str] = field(default_factory=list)
    undecided: dict[str, int | None] = field(default_factory=dict)
    so_far: dict[str, Coverage] = field(default_factory=dict)
    not_so_far: dict[str, Coverage] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)


def outcomes(study: Study, paper: str, side: Side) -> dict[str, Outcome]:
    """Return claim -> what the numbers of a side say of it, for all claims of a paper."""

    def assumed(cell: NumberedCell) -> float:
        table = study.exhibits[paper, cell.table]
        return assumed_std_of([*table.judging(cell.column), study.papers[paper]]).points

    return {name: outcome(claim, side, assumed) for name, claim in study.claims.get(paper, {}).items()}


def sort_claims(found: Mapping[str, Outcome]) -> ClaimsByOutcome:
    """Put each claim into the list of its outcome."""
    partly = {name: one.known for name, one in found.items() if one.so_far is not None and one.known is not None}
    return ClaimsByOutcome(
        hold=[name for name, one in found.items() if one.holds is True],
        fail=[name for name, one in found.items() if one.holds is False],
        undecided={name: one.runs for name, one in found.items() if one.runs is not None or one.unknown},
        so_far={name: known for name, known in partly.items() if found[name].so_far},
        not_so_far={name: known for name, known in partly.items() if not found[name].so_far},
        without=[
            name for name, one in found.items() if one.holds is one.runs is one.so_far is None and not one.unknown
        ],
    )


def side_of_lines(study: Study, paper: str, tables: Mapping[str, list[Line]]) -> Side:
    """Return the numbers of a run."""
    return ours({name: study.exhibits[paper, name] for name in tables}, tables)


def side_of_recording(study: Study, paper: str, recording: Recording) -> Side:
    """Return the numbers of a recorded run; a mean without a deviation counts as one run."""
    cells = {}
    for name, rows in recording.tables.items():
        digits = study.exhibits[paper, name].digits
        for row, columns in rows.items():
            for column, (mean, *deviations) in columns.items():
                std = deviations[0] if deviations else None
                number = Number(formatted(mean, digits), mean, "" if std is None else formatted(std, digits))
                runs = 1 if std is None else recording.runs
                cells[name, row, column] = NumberedCell(name, row, column, number, runs, "x100", std)
    claims = study.claims.get(paper, {}).values()
    keys = {key for claim in claims for group in (*claim.cells, *claim.than) for key in group.keys}
    return Side(cells, dict.fromkeys(keys, "not in the recorded run"), Reached)
