"""Numbers of others for cells of a table: judged as ours would be, and never counted as ours.

They stand below their table, in a table of their own with a row for each row of a source.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from retort.formatters import number
from retort.judgement.comparisons import Reached
from retort.judgement.judge import Facts, Key, Side, claim_frame, facts_of
from retort.judgement.verdicts import assumed_in, judge_lines
from retort.results.frames import concatenated, lines_of
from retort.specs.paper import Replication
from retort.specs.reported import Number, read_number
from retort.specs.rows import CellSpec
from retort.study.study import Study
from retort.tables.base import Inputs
from retort.tables.layout import ByOthers, Entry, Grid, GridRow, as_reported, entry, verdict_remark
from retort.tables.measure import joined_with_reported, unit_of, units_of

if TYPE_CHECKING:
    from pandas import DataFrame

TITLE = "Measured by others, never counted as ours"
READ = (
    "Below each number of others: the reported one, the difference with its 95 % interval, and the verdict, as for a "
    "run of ours; the deviation of a side that gives none is the one that the table assumes. Verdicts are corrected "
    "for the number of cells, so that one with an interval without zero may be inconclusive."
)


def replications_of(study: Study, paper: str, name: str) -> dict[str, Replication]:
    """Return the replications of a paper that have numbers for a table, by the name of their file."""
    found = {file: one for (slug, file), one in study.replications.items() if slug == paper}
    return {file: one for file, one in found.items() if name in one.tables}


def numbers_of(one: Replication) -> Iterator[tuple[Key, str, int]]:
    """Yield each number of a replication: its table, row and column, its text, and how many runs it is of."""
    for name, rows in one.tables.items():
        for row, told in rows.items():
            yield from (((name, row, column), text, told.runs or 1) for column, text in told.numbers.items())


def replicated_frame(study: Study, paper: str, name: str) -> DataFrame:
    """Return a line for each number of others for cells of a table, with its verdict.

    `mean`, `std` and `n` are theirs, `student` is the name of the file of the replication, and `text` the number as the
    source reports it. The lines of a source are one family of tests, as those of a run of ours are.
    """
    exhibit, frames = study.exhibits[paper, name], {}
    specs = {(cell.row, cell.column): cell for cell in exhibit.cells()}
    for file, one in replications_of(study, paper, name).items():
        lines = [_line(file, specs[key[1:]], text, runs) for key, text, runs in numbers_of(one) if key[0] == name]
        frame = joined_with_reported(Inputs(study, paper, name), exhibit, lines)
        frames[file] = judge_lines(frame, assumed_in(exhibit, study.papers[paper]))
    return concatenated(frames)


def replicated_sides(study: Study, paper: str) -> dict[str, Side]:
    """Return what each source has of a paper's cells, as claims are judged on it: who -> its numbers.

    A number without a count of runs is of one run, and one without a deviation has the one that its table assumes.
    """
    return {
        one.who: Side(claim_frame(_facts(study, paper, one)), Reached)
        for (slug, _), one in study.replications.items()
        if slug == paper
    }


def _facts(study: Study, paper: str, one: Replication) -> dict[Key, Facts]:
    """Return what a source says of each cell of a paper that it has; scores have a unit, so that they may be drawn."""
    units = units_of({name: study.exhibits[paper, name] for name in one.tables})
    return {
        key: facts_of(told, runs, told.std, unit=units[key])
        for key, text, runs in numbers_of(one)
        if key in units and (told := read_number(text))
    }


def _line(file: str, cell: CellSpec, text: str, runs: int) -> Mapping[str, object]:
    told = read_number(text) or Number(text, math.nan)  # the schema lets no other text pass
    of = {"row": cell.row, "column": cell.column, "student": file, "task": cell.task, "metric": cell.metric}
    return {**of, "unit": unit_of(cell), "mean": told.value, "std": told.std, "n": runs, "text": text}


def by_others(study: Study, paper: str, name: str) -> ByOthers | None:
    """Return what others have for cells of a table, to be reported below it; None if nobody has."""
    sources, exhibit = replications_of(study, paper, name), study.exhibits[paper, name]
    if not sources:
        return None
    reported, frame = as_reported(exhibit), replicated_frame(study, paper, name)
    entries: dict[tuple[str, str, str], Entry] = {}
    for line in lines_of(frame):
        shown = entry(line, exhibit.digits, reported.get((line.row, line.column)))
        entries[line.row, line.student, line.column] = replace(shown, text=line.text, notes=(), runs="", line=None)
    shown_columns = {column for _, _, column in entries}
    head = list(dict.fromkeys(cell.column for cell in exhibit.cells() if cell.column in shown_columns))
    rows = [
        GridRow(f"{row}, {one.who}", [entries.get((row, file, column), Entry("")) for column in head])
        for row in exhibit.rows_and_columns()
        for file, one in sources.items()
        if row in one.tables[name]
    ]
    notes = [(one.who, one.url, _about(one, name, frame[frame["student"] == file])) for file, one in sources.items()]
    return ByOthers(Grid(head, rows, TITLE), notes, READ)


def _about(one: Replication, name: str, lines: DataFrame) -> str:
    """Return how far a source is from the reported numbers, where its own stand, and how they were measured."""
    places = ", ".join(dict.fromkeys(row.where for row in one.tables[name].values()))
    parts = [_apart(lines), f"{places}, read {one.read}{f' at {one.commit[:7]}' if one.commit else ''}"]
    for word, said in (("same", one.same), ("differs", one.differs)):
        parts += [f"{word}: {', '.join(f'{aspect} ({text})' for aspect, text in said.items())}"] if said else []
    return "; ".join(parts)


def _apart(lines: DataFrame) -> str:
    """Return how far numbers are from the reported ones, and in how many cells by more than their rounding."""
    apart = lines["mean"] - lines["reported"]
    count, beyond = len(apart), int((apart.abs() > lines["reported_half"]).sum())
    low, high = (float(apart.agg(end)) for end in ("min", "max"))
    if low < 0 < high:
        far = f"from {number(-low, 1)} points below to {number(high, 1)} above"
    else:
        ends = dict.fromkeys(number(end, 1) for end in sorted((abs(low), abs(high))))
        far = f"{' to '.join(ends)} points {'below' if low < 0 else 'above'}"
    told = f", by more than rounding in {beyond} of {count} cells" if count > 1 else " in one cell"
    return f"{far} the reported numbers{told}"


def in_a_word(study: Study, paper: str) -> list[str]:
    """Return what others measured, in one text; of the students that the paper trained, what the largest source has."""
    names = [name for slug, name in study.exhibits if slug == paper and replications_of(study, paper, name)]
    if not names:
        return []
    frames = {name: replicated_frame(study, paper, name) for name in names}
    everything = concatenated(frames)
    count = everything["student"].nunique()
    sources = f"{count} source{'s' * (count > 1)}"
    told = [f"Others report {len(everything)} numbers for cells of its tables ({sources})."]
    told += verdict_remark(everything["verdict"])
    own = concatenated({name: frame[_is_own(study, paper, name, frame)] for name, frame in frames.items()})
    if len(own):
        file = str(own["student"].value_counts().idxmax())
        one = study.replications[paper, file]
        differs = f"; it differs in {' and '.join(one.differs)}" if one.differs else ""
        told += [f"An independent run ({one.who}) is {_apart(own[own['student'] == file])}{differs}."]
    return [" ".join(told)]


def _is_own(study: Study, paper: str, name: str, frame: DataFrame) -> list[bool]:
    """Return which lines are of students that the paper trained itself."""
    cells = study.exhibits[paper, name].cells()
    own = {cell.row for cell in cells if study.trained_on(cell.student) and not cell.quoted}
    return [row in own for row in frame["row"]]
