"""Lay out a frame as the content of a table, before any markup: the parts that all kinds of tables share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from retort.formatters import DASH, number, signed_number, with_std
from retort.judgement.verdicts import NO_RUNS, SAME_NUMBER, VERDICTS
from retort.results.frames import INCOMPLETE
from retort.specs.exhibit import Exhibit
from retort.study.reasons import AT_SCALE, HAS_VALUE, PLACES, Status, sentence
from retort.tables.curves import Curve, drawn_curves

if TYPE_CHECKING:
    from pandas import DataFrame, Series

SHORT = {Status.DIVERGED: "div.", Status.SERVER: "server"}  # text of a cell without a value; others report a dash
REPORTED_SHOWN = "the numbers are reported or recorded ones."
NOT_RUN = "Not run {where}: " + REPORTED_SHOWN  # the sentence of a table in which no cell was run
ALL_QUOTED = "Quoted from other work and never run: " + REPORTED_SHOWN
UNRUN = (Status.NOT_RUN, Status.QUOTED)  # of cells in such a table
UPRIGHT = 130  # characters on a portrait page, in letters of a size that can be read
LABEL, COLUMN = 20, 15  # characters of the labels of rows, and at most of a column, whose texts then break
MOST_CURVES = 12  # in a drawing: more lines cannot be told apart
PROFILE = "profile"  # label of a run
SHAPE_UNITS = ("layers", "units")  # of values that follow from the architecture: they need no run


@dataclass(frozen=True)
class CellRun:
    """One run behind a cell: one seed of a score, or a profile.

    Args:
        label: task, metric and seed; PROFILE for a profile.
        value: its value as text; without a value, its status.
        took: its time, such as '10 s'.
        device: where it ran.
        made: when it ended, as a date and a time.
        path: its file.
        log: its log, empty if there is none.
        curve: its loss, step after step (`curves.py`); empty if its steps are not kept.
    """

    label: str
    value: str
    took: str
    device: str
    made: str
    path: str
    log: str = ""
    curve: Curve = ()


@dataclass(frozen=True)
class Entry:
    """One cell of a grid, as texts.

    Args:
        text: our value.
        reported: the reported value; empty if there is none.
        verdict: one of `VERDICTS`, or empty.
        bold: whether `text` is bold.
        notes: the texts of the cell's footnotes.
        difference: ours minus reported, with its interval if it has one.
        runs: for an inconclusive cell, in brackets: with how many runs of ours equal means would be shown to agree;
            empty if no number of runs would do.
        differs: in place of a verdict: in what the model that is run is not what the row reports.
        nearby: our score on dev, in a cell that only a test server can score; or the score of our grid's best point,
            trained again, if `text` is the best of the grid.
        recorded: the number of a recorded run of ours, which `recorded_apart` moves; empty if there is none.
        look: its class in a page; empty for none.
        line: the line of the frame that the entry shows; None for a cell as the paper reports it.
        origin: the runs behind our value, in the order of tasks and seeds.
    """

    text: str
    reported: str = ""
    verdict: str = ""
    bold: bool = False
    notes: tuple[str, ...] = ()
    difference: str = ""
    runs: str = ""
    differs: str = ""
    nearby: str = ""
    recorded: str = ""
    look: str = ""
    line: Any = None
    origin: tuple[CellRun, ...] = ()

    @property
    def curves(self) -> list[str]:
        """The points of the loss of each training behind it, for a drawing; empty for a mean over many."""
        curves = dict.fromkeys(run.curve for run in self.origin)  # a training may be scored on several data
        return drawn_curves(curves) if len(curves) <= MOST_CURVES else []

    @property
    def files(self) -> list[str]:
        """The files and logs of the runs behind it, each once."""
        return list(dict.fromkeys(path for run in self.origin for path in (run.path, run.log) if path))

    @property
    def same(self) -> str:
        """The sign in place of a recorded number that is rounded to ours, and of its verdict; else empty."""
        return SAME_NUMBER.get(self.verdict, "") if self.text == self.reported else ""

    @property
    def judgement(self) -> str:
        """The verdict and the number of runs that would decide it; or why there is none."""
        return self.differs or f"{self.verdict} {self.runs}".strip()

    @property
    def longest(self) -> int:
        """The characters of its longest line."""
        compared = () if self.same else (self.reported, self.difference, self.judgement)
        return max(map(len, (self.text, self.nearby, *compared)))


@dataclass(frozen=True)
class GridRow:
    """A row of entries with its label; `opens` is true for the first row of a new group."""

    label: str
    entries: list[Entry]
    baseline: bool = False
    opens: bool = False


@dataclass(frozen=True)
class Grid:
    """One rectangle of rows and columns; if a table has several grids, each has a title."""

    head: list[str]
    rows: list[GridRow]
    title: str = ""

    @property
    def entries(self) -> list[Entry]:
        """The entries of all rows."""
        return [entry for row in self.rows for entry in row.entries]

    @property
    def characters(self) -> int:
        """How many characters stand side by side in its widest row, with two between columns."""
        words = ([*map(len, head.split())] for head in self.head)  # a head breaks between them
        cells = ([row.entries[at].longest for row in self.rows] for at in range(len(self.head)))
        return LABEL + sum(
            2 + min(COLUMN, max([*of, *below], default=0)) for of, below in zip(words, cells, strict=True)
        )


@dataclass(frozen=True)
class ByOthers:
    """What others measured for cells of a table, in a table of its own below it.

    Args:
        grid: their rows, and the columns that one of them has.
        sources: who, the address, and what is known of how it was measured.
        remark: how it is read.
    """

    grid: Grid
    sources: list[tuple[str, str, str]]
    remark: str


@dataclass(frozen=True)
class Sheet:
    """A whole table: titles, grids and closing remarks; the footnotes are those of its cells.

    Args:
        paper: name of the paper.
        name: name of the table.
        scale: name of the scale of the study.
        title: title of the table.
        question: the question that the table answers.
        caption: caption of the table.
        grids: its rows and columns.
        remarks: sentences below the table.
        state: why no cell of the table was run; empty if some cell was.
        by_others: what others measured for its cells; None if nobody is known to.
        folded: whether a page shows it only when asked: a table without scores.
    """

    paper: str
    name: str
    scale: str
    title: str
    question: str
    caption: str
    grids: list[Grid]
    remarks: list[str] = field(default_factory=list)
    state: str = ""
    by_others: ByOthers | None = None
    folded: bool = False

    @property
    def entries(self) -> list[Entry]:
        """The entries of all grids."""
        return [entry for grid in self.grids for entry in grid.entries]

    @cached_property
    def letters(self) -> dict[str, str]:
        """The letter of each footnote by its text, in the order of first use."""
        texts = dict.fromkeys(text for entry in self.entries for text in entry.notes)
        return {
            text: (chr(96 + index // 26) if index >= 26 else "") + chr(97 + index % 26)
            for index, text in enumerate(texts)
        }

    def mark(self, entry: Entry) -> str:
        """Return the letters of a cell's footnotes, split by commas."""
        return ",".join(self.letters[text] for text in entry.notes)

    @property
    def reported(self) -> bool:
        """Whether any cell has a reported value below ours."""
        return any(entry.reported and not entry.same for entry in self.entries)

    @property
    def compared(self) -> bool:
        """Whether any cell shows how ours differs from the reported value."""
        return any((entry.difference or entry.judgement) and not entry.same for entry in self.entries)

    @property
    def wide(self) -> bool:
        """Whether a grid is too wide for a portrait page: paper cannot scroll, so it is printed in landscape."""
        return any(grid.characters > UPRIGHT for grid in self.grids)

    def changed(self, change: Callable[[Entry], Entry]) -> Sheet:
        """Return the sheet with each entry changed."""
        grids = [
            replace(grid, rows=[replace(row, entries=list(map(change, row.entries))) for row in grid.rows])
            for grid in self.grids
        ]
        return replace(self, grids=grids)


def label_of(name: str) -> str:
    """Return 'Table 1' for 'table1', 'Table 5 (acl)' for 'table5-acl', 'Figure 2a' for 'figure2a'."""
    stem, _, rest = name.partition("-")
    noun = stem[: next((at for at, letter in enumerate(stem) if letter.isdigit()), len(stem))]
    return f"{noun.capitalize()} {stem[len(noun) :]}".strip() + (f" ({rest})" if rest else "")


def counts_of(verdicts: Iterable[str]) -> dict[str, int]:
    """Return the number of cells with each verdict."""
    given = list(verdicts)
    return {verdict: given.count(verdict) for verdict in VERDICTS}


def verdict_remark(verdicts: Series[str]) -> list[str]:
    """Return a remark with the number of cells that have each verdict; empty if none has one."""
    counts = counts_of(verdicts)
    given = [f"{verdict} {count}" for verdict, count in counts.items() if count]
    many = sum(counts.values())
    return [f"Verdicts on {many} cell{'s' * (many != 1)}: {', '.join(given)}."] if given else []


def _difference(line: Any, decimals: int) -> str:
    """Return ours minus reported with its interval, such as '-0.4 (-1.1 to 0.3)'; empty if they are not compared."""
    # not judged: another model, another size of model, or another split
    of_another_model = bool(line.differs) or (line.unit == "x100" and not line.verdict and line.low is None)
    if line.mean is None or line.reported is None or of_another_model:
        return ""
    difference = signed_number(line.mean - line.reported, decimals)
    if line.low is None or line.high is None:
        return difference
    return f"{difference} ({number(line.low, decimals)} to {number(line.high, decimals)})"


def entry(line: Any, decimals: int, text_of_paper: str | None) -> Entry:
    """Return the cell of a grid that shows a line.

    Args:
        line: the line of a frame.
        decimals: digits after the point.
        text_of_paper: the reported value as the paper reports it; None to format it like ours.
    """
    reported = "" if line.reported is None else text_of_paper or with_std(line.reported, line.reported_std, decimals)
    recorded = "" if line.recorded is None else with_std(line.recorded, line.recorded_std, decimals)
    if line.status not in HAS_VALUE:
        nearby = "" if line.dev is None else f"dev {number(line.dev, decimals)}"
        text = SHORT.get(Status(line.status), DASH)
        return Entry(text, reported, notes=(line.state,), nearby=nearby, recorded=recorded, line=line)
    again = "" if line.rerun is None else f"again {with_std(line.rerun, line.rerun_std, decimals)}"
    shown = Entry(
        with_std(line.mean, line.std, decimals),
        reported,
        line.verdict,
        notes=tuple(filter(None, (line.note, line.assumes or line.best_of))),
        nearby="dev" if line.status == Status.DEV else again,
        recorded=recorded,
        difference=_difference(line, decimals),
        differs="" if line.reported is None else line.differs,
        runs=f"({line.runs_needed} runs)" if line.runs_needed not in ("", NO_RUNS) else "",
        line=line,
    )
    return replace(shown, notes=tuple(filter(None, (line.note,)))) if shown.same else shown


def as_reported(exhibit: Exhibit) -> dict[tuple[str, str], str]:
    """Return (row, column) -> the text that a paper reports; empty for a study of ours, which has more digits."""
    return {(cell.row, cell.column): cell.text for cell in exhibit.paper_cells()}


def sheet(exhibit: Exhibit, frame: DataFrame, grids: list[Grid], remarks: list[str]) -> Sheet:
    """Return the sheet of a table from its grids and remarks."""
    paper, table, scale = frame[["paper", "table", "scale"]].iloc[0]
    about = (paper, table, scale, exhibit.title, exhibit.question, exhibit.caption)
    return Sheet(*about, grids, remarks, folded=not (frame["unit"] == "x100").any())


def _state(frame: DataFrame) -> str:
    """Return why no cell of a table was run; empty if a cell was run, or was to be run and has no value."""
    counted = frame[~frame["unit"].isin(SHAPE_UNITS)]
    incomplete = (counted["status"] == Status.MISSING) & (counted["reason"] == INCOMPLETE)
    statuses = set(counted.loc[~incomplete, "status"])
    if not statuses or statuses - set(UNRUN):
        return ""
    reasons = sorted(set(counted.loc[counted["status"] == Status.NOT_RUN, "reason"].replace("", AT_SCALE)))
    where = next((each for each in PLACES if any(reason.startswith(each) for reason in reasons)), "")
    further = "; ".join(filter(None, (reason.partition(": ")[2] for reason in reasons)))
    return NOT_RUN.format(where=f"{where} ({further})" if further else where) if where else ALL_QUOTED


def reported_alone(laid_out: Sheet, frame: DataFrame) -> Sheet:
    """Put the reported numbers in the place of ours, and say why, if no cell was run; else return the sheet unchanged.

    Recorded numbers stay. Grids that have neither reported nor recorded numbers are left out, unless no grid has any.
    """
    state = _state(frame)
    if not state:
        return laid_out
    quoted = {sentence(Status.QUOTED, why) for why in frame.loc[frame["status"] == Status.QUOTED, "reason"]}

    def alone(entry: Entry) -> Entry:
        notes = tuple(text for text in entry.notes if entry.reported and text in quoted)
        return Entry(entry.reported or entry.text, notes=notes, recorded=entry.recorded)

    telling = [grid for grid in laid_out.grids if any(entry.reported or entry.recorded for entry in grid.entries)]
    return replace(laid_out, grids=telling or laid_out.grids, remarks=[], state=state).changed(alone)


def recorded_apart(laid_out: Sheet) -> Sheet:
    """Move recorded numbers into columns of their own, each on the right of its column."""

    def apart(grid: Grid) -> Grid:
        there = [any(row.entries[at].recorded for row in grid.rows) for at in range(len(grid.head))]
        pairs = zip(grid.head, there, strict=True)
        head = [name for head, moved in pairs for name in [head, f"{head}, recorded"][: 1 + moved]]
        return replace(grid, head=head, rows=[replace(row, entries=_moved(row.entries, there)) for row in grid.rows])

    return replace(laid_out, grids=list(map(apart, laid_out.grids)))


def _moved(entries: list[Entry], there: list[bool]) -> list[Entry]:
    pairs = [(replace(one, recorded=""), Entry(one.recorded or DASH, look="recorded")) for one in entries]
    return [entry for pair, moved in zip(pairs, there, strict=True) for entry in pair[: 1 + moved]]
