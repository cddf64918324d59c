"""The tidy CSV: one line for each printed cell. Tables, verdicts, claims and figures are made from it alone."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from retort import checksums
from retort.atomic import replacing_file
from retort.errors import RetortError
from retort.job.context import this_code
from retort.study.reasons import AT_SCALE, Status, sentence
from retort.study.study import Study

AGAIN = checksums.REMEDY
PLACE = "results/tables/*/*.csv"  # */*: the paper / its table or figure
INCOMPLETE = "the row is incomplete"  # reason of a mean or change without a value because one of its cells has none


BySeed = tuple[tuple[int, float], ...]  # (seed, score), sorted


@dataclass(frozen=True)
class Line:
    """One printed cell: its table, row and column, the published value, and our value.

    Args:
        unit: 'x100' (scores times 100), 'M' (million parameters), 'ms', 'times' (speed-up), 'p' (p-values), 'rows',
            'steps', 'h' (hours, computed).
        std: sample standard deviation (n - 1); None for a single value. For a speed-up or a change in %, it is computed
            from those of the two means.
        status: what became of the cell.
        reason: why it has no value of ours, to be read after the status, such as 'at step 42' or 'no profile'.
        note: what a reader of the value must know, such as that it was measured on a sample of the data.
        text: our value as the paper would print it, in a cell that holds a setting.
        published_n: number of runs behind the published mean; 0 if unknown.
        published_half: half a unit of the last published digit.
        low: lower end of the 95 % interval of the difference, ours minus published; paired, if it reproduces a run.
        high: its upper end.
        p: p-value of the two-sided test that the two means are equal.
        p_holm: the same after Holm's correction over the table's cells.
        p_equivalence: p-value of the two one-sided tests that the means differ by the margin or more.
        verdict: 'agrees', 'differs', 'inconclusive', 'repeats', 'reproduces' (`judgement/verdicts.py`) or empty.
        assumes: what the verdict assumes if a side has no deviation or no number of runs.
        runs_needed: for an inconclusive cell: runs of ours with which equal means would be shown to agree, or 'none'.
        dev: our score on dev, in a cell that only a test server can score.
        recorded: the mean of a recorded run of ours; never a published number.
        recorded_std: its standard deviation.
        differs: in what the model that is run is not what the row prints; such a cell has no verdict.
        best_of: what the verdict compares, if the published number is the best of a grid on dev.
        best_point: if `mean` is the best of our grid: its point, settings and file.
        rerun: if `mean` is the best of our grid: the mean of its point trained again, on which claims are judged.
        rerun_std: its standard deviation.
        rerun_n: the number of its runs.
        by_seed: the score under each seed, in the file such as '1=74.6 2=74.45'; of `rerun` if there is one.
        published_by_seed: the same of the recorded run whose mean is `published`, if its precision is that of this run.
    """

    paper: str
    table: str
    row: str
    column: str
    student: str
    task: str
    metric: str
    unit: str
    published: float | None = None
    published_std: float | None = None
    mean: float | None = None
    std: float | None = None
    n: int = 0
    status: Status = Status.OK
    reason: str = ""
    scale: str = ""
    note: str = ""
    text: str = ""
    published_n: int = 0
    published_half: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    p_equivalence: float | None = None
    verdict: str = ""
    assumes: str = ""
    runs_needed: str = ""
    dev: float | None = None
    recorded: float | None = None
    recorded_std: float | None = None
    differs: str = ""
    best_of: str = ""
    best_point: str = ""
    rerun: float | None = None
    rerun_std: float | None = None
    rerun_n: int = 0
    by_seed: BySeed = ()
    published_by_seed: BySeed = ()

    @property
    def state(self) -> str:
        """The status and its reason as a sentence."""
        return sentence(self.status, self.reason)


UNPLACED = Line("", "", "", "", "", "", "", "")  # what is measured for a cell starts from it; its place is added last


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a text that begins so for a formula


def escape_formula(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    return f"'{text}" if text.startswith((*FORMULA_STARTS, "'")) else text


def _unescape(cell: str) -> str:
    """Return the text of a cell: the inverse of `escape_formula`."""
    return cell[1:] if cell.startswith("'") else cell


def _read_by_seed(text: str) -> BySeed:
    pairs = (part.partition("=") for part in text.split())
    return tuple((int(seed), float(score)) for seed, _, score in pairs)


HEADER = [field.name for field in fields(Line)]
REQUIRED = HEADER.index("text")  # this column and the later ones are newer: `read` accepts files without them
_READ: dict[object, Callable[[str], Any]] = {
    "str": _unescape, "int": int, "float | None": float, "Status": Status, "BySeed": _read_by_seed,
}  # fmt: skip
TYPES = {field.name: _READ[field.type] for field in fields(Line)}


def _format(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, tuple):
        return " ".join(f"{seed}={score:.10g}" for seed, score in value)
    return "" if value is None else escape_formula(str(value)) if isinstance(value, str) else str(value)


def write(path: Path | str, lines: Iterable[Line]) -> None:
    """Write a tidy CSV atomically, with a checksum beside it; the same lines give the same bytes."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing_file(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows([_format(getattr(line, name)) for name in HEADER] for line in lines)
    checksums.take(path, "tidy", this_code(), (), {})  # the job will write it again, with its parents


def read(path: Path | str) -> list[Line]:
    """Read the lines of a tidy CSV.

    Raises:
        RetortError: the file was changed, has other columns, an unknown status or a text in place of a number, or holds
            another table or figure than its path says.
    """
    path = Path(path)
    if checksums.check(path, thorough=True) is None:
        raise RetortError(f"{path} has no checksum beside it", AGAIN)
    lines = _lines(path)
    strange = {(line.paper, line.table) for line in lines} - {(path.parent.name, path.stem)}
    if strange and path.match(PLACE):
        paper, table = min(strange)
        raise RetortError(f"{path} holds {table} of '{paper}'", AGAIN)
    return lines


def _lines(path: Path) -> list[Line]:
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        names = list(reader.fieldnames or [])
        if len(names) < REQUIRED or names != HEADER[: len(names)]:
            raise RetortError(f"{path} is not a tidy CSV", AGAIN)
        try:
            return [
                Line(**{name: TYPES[name](text) for name, text in record.items() if text or TYPES[name] is _unescape})
                for record in reader
            ]
        except ValueError as error:
            raise RetortError(f"{path}, line {reader.line_num}: {error}", AGAIN) from None


# --- what is not judged: numbers of other models than printed, and those of a rehearsal, which also get a mark

MARK = "rehearsed: a miniature on made data, which says nothing about the printed number"
NO_JUDGEMENT = f"{AT_SCALE}: the numbers are rehearsed"


def withhold_verdicts(study: Study, paper: str, lines: list[Line]) -> list[Line]:
    """Remove the verdicts from lines if the scale is not judged on this paper; mark the numbers of a rehearsal."""
    if study.judges(paper):
        return lines
    return [_without_verdict(line, "" if study.scale.claims else MARK) for line in lines]


def _without_verdict(line: Line, mark: str) -> Line:
    note = "; ".join(filter(None, (mark if line.mean is not None or line.dev is not None else "", line.note)))
    tests: dict[str, Any] = dict.fromkeys(("low", "high", "p", "p_holm", "p_equivalence"))
    return replace(line, **tests, note=note, verdict="", assumes="", runs_needed="")


def for_claims(study: Study, tables: Mapping[str, list[Line]]) -> dict[str, list[Line]]:
    """Return the lines on which claims are judged; without numbers at a scale that judges no claims.

    In the place of a best of a grid stands the score of its point trained again, so that all rows are compared by such.
    """
    change = trained_again if study.scale.claims else _without_number
    return {name: list(map(change, lines)) for name, lines in tables.items()}


def trained_again(line: Line) -> Line:
    """Return the line of a best of a grid with the score of its point, trained again, alone."""
    if line.rerun is None:
        return line
    of_a_best: dict[str, Any] = {name: getattr(UNPLACED, name) for name in HEADER if name.startswith(("best", "rerun"))}
    return replace(line, mean=line.rerun, std=line.rerun_std, n=line.rerun_n, **of_a_best)


def _without_number(line: Line) -> Line:
    return replace(line, mean=None, std=None, dev=None, status=Status.NOT_RUN, reason=NO_JUDGEMENT)
