"""Lay out tidy lines as the content of a printed table, before any markup."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from retort.registry import Registry
from retort.specs.printed import row_names
from retort.specs.rows import Row
from retort.specs.table import ProfilesTable, ScoresTable, Table, TestsTable
from retort.specs.text_tables import CountsTable, SettingsTable
from retort.study.study import Study
from retort.tables.compare import AGREES, DIFFERS, RULE, verdicts
from retort.tables.lines import AVERAGE
from retort.tables.numbers import NOTHING, p_value, signed, with_std
from retort.tables.tidy import Line, Status
from retort.tables.words import COUNTS, SETTINGS, word_verdicts

SHORT = {Status.DIVERGED: "div.", Status.SERVER: "server"}  # what their cells print; others print a dash


@dataclass(frozen=True)
class Entry:
    """One printed cell, as texts.

    Args:
        text: our value.
        published: the published value; empty if there is none.
        verdict: 'agrees', 'close', 'differs' or empty.
        bold: whether `text` is printed bold.
        mark: the letter of the cell's footnote; empty if there is none.
        difference: ours minus published.
    """

    text: str
    published: str = ""
    verdict: str = ""
    bold: bool = False
    mark: str = ""
    difference: str = ""


@dataclass(frozen=True)
class PrintedRow:
    """A row of entries with its label; `opens` is true for the first row of a new group."""

    label: str
    entries: list[Entry]
    baseline: bool = False
    opens: bool = False


@dataclass(frozen=True)
class Grid:
    """One rectangle of rows and columns; it has a title of its own if the table has several grids."""

    head: list[str]
    rows: list[PrintedRow]
    title: str = ""


@dataclass(frozen=True)
class Sheet:
    """A whole printed table: titles, grids, lettered footnotes and closing remarks.

    Args:
        paper: name of the paper.
        name: name of the table.
        scale: name of the scale of the study.
        title: title of the table.
        question: the question that the table answers.
        caption: caption of the table.
        grids: its rows and columns.
        notes: (letter, text) of each footnote.
        remarks: sentences printed below the table.
        state: why no cell of the table was run; empty if some cell was.
    """

    paper: str
    name: str
    scale: str
    title: str
    question: str
    caption: str
    grids: list[Grid]
    notes: list[tuple[str, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    state: str = ""


class _Notes:
    """A collector of footnotes; equal texts share a letter."""

    def __init__(self) -> None:
        self.letters: dict[str, str] = {}

    def mark(self, text: str) -> str:
        """Return the letter of a footnote, a new one for a new text."""
        index = len(self.letters)
        letter = (chr(96 + index // 26) if index >= 26 else "") + chr(97 + index % 26)
        return self.letters.setdefault(text, letter)

    def listed(self) -> list[tuple[str, str]]:
        """Return (letter, text) of every footnote, in the order of first use."""
        return [(letter, text) for text, letter in self.letters.items()]


Layout = Callable[[Table, list[Line]], Sheet]
layouts: Registry[Layout] = Registry("layout")


def label_of(title: str) -> str:
    """Return 'Table 1' for 'table1', 'Table 5 (acl)' for 'table5-acl', 'Figure 2a' for 'figure2a'."""
    stem, _, rest = title.partition("-")
    kind = stem[: next((at for at, letter in enumerate(stem) if letter.isdigit()), len(stem))]
    return f"{kind.capitalize()} {stem[len(kind) :]}".strip() + (f" ({rest})" if rest else "")


def agreement(table: Table, lines: list[Line]) -> tuple[int, int]:
    """Return how many cells agree with the published values, and how many have a verdict at all."""
    words = isinstance(table, (SettingsTable, CountsTable))
    found = word_verdicts(table, lines) if words else verdicts(lines, table.decimals)  # type: ignore[arg-type, union-attr]
    given = [verdict for verdict in found.values() if verdict]
    return given.count(AGREES), len(given)


def _as_printed(table: ScoresTable | ProfilesTable) -> dict[tuple[str, str], str]:
    """Return the text of each published cell of a paper; empty for a recorded run, whose numbers have more digits."""
    cells = table.printed_cells() if table.numbers else []
    return {(cell.row, cell.column): cell.text for cell in cells}


def _entry(line: Line, decimals: int, verdict: str, notes: _Notes, printed: str | None) -> Entry:
    published = "" if line.published is None else printed or with_std(line.published, line.published_std, decimals)
    if line.status is not Status.OK:
        return Entry(SHORT.get(line.status, NOTHING), published, mark=notes.mark(line.state))
    mark = notes.mark(line.note) if line.note else ""
    apart = "" if line.mean is None or line.published is None else signed(line.mean - line.published, decimals)
    return Entry(with_std(line.mean, line.std, decimals), published, verdict, mark=mark, difference=apart)


def _rows(rows: list[Row], columns: list[str], entries: dict[tuple[str, str], Entry]) -> list[PrintedRow]:
    printed, group = [], rows[0].group
    for name, row in zip(row_names(rows), rows, strict=True):
        printed.append(PrintedRow(name, [entries[name, c] for c in columns], row.baseline, row.group != group))
        group = row.group
    return printed


def _best(table: ScoresTable, lines: list[Line]) -> set[tuple[str, str]]:
    """Return the (row, column) of the best value of each column, rounded as printed; baselines do not compete."""
    baselines = {row.student for row in table.rows if row.baseline}
    best: dict[str, float] = {}
    shown = {}
    for line in lines:
        if line.mean is not None and line.unit == "x100" and line.student not in baselines:
            value = shown[line.row, line.column] = round(line.mean, table.decimals)
            best[line.column] = max(value, best.get(line.column, value))
    return {key for key, value in shown.items() if value == best[key[1]]}


def _agreed(table: Table, lines: list[Line]) -> list[str]:
    agrees, judged = agreement(table, lines)
    return [f"{agrees} of {judged} cells agree with the published values."] if judged else []


def _runs(lines: list[Line]) -> list[str]:
    """Return a remark with the number of runs behind each of our means."""
    counts = sorted({line.n for line in lines if line.status is Status.OK and line.n})
    few = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}" if counts else ""
    return [f"Ours: n = {few}."] if few else []


def _sheet(table: Table, lines: list[Line], grids: list[Grid], notes: _Notes, remarks: list[str]) -> Sheet:
    first = lines[0]
    common = (first.paper, first.table, first.scale, table.title, table.question, table.caption)
    return Sheet(*common, grids, notes.listed(), remarks)


@layouts.register("scores")
def scores(table: Table, lines: list[Line]) -> Sheet:
    """Lay out a table of scores: one row per student, one column per task."""
    assert isinstance(table, ScoresTable)
    notes, judged, best = _Notes(), verdicts(lines, table.decimals), _best(table, lines)
    columns = list(dict.fromkeys(line.column for line in lines))
    entries, order, printed = {}, row_names(table.rows), _as_printed(table)
    for line in sorted(lines, key=lambda line: order.index(line.row)):
        key = (line.row, line.column)
        entries[key] = replace(_entry(line, table.decimals, judged[key], notes, printed.get(key)), bold=key in best)
    remarks = [*_agreed(table, lines), RULE] if any(judged.values()) else []
    remarks += _runs(lines)
    if AVERAGE in columns:
        counted = [column.label for column in table.columns if column.average]
        remarks.append(f"Average: the mean of {', '.join(counted)}. Bold: the best student of a column.")
    else:
        remarks.append("Bold: the best student of the column.")
    return _sheet(table, lines, [Grid(columns, _rows(table.rows, columns, entries))], notes, remarks)


@layouts.register("profiles")
def profiles(table: Table, lines: list[Line]) -> Sheet:
    """Lay out a table of profiles: one row per architecture, with its parameters, latency and speed-up."""
    assert isinstance(table, ProfilesTable)
    notes, judged, printed = _Notes(), verdicts(lines, table.decimals), _as_printed(table)
    columns = list(dict.fromkeys(line.column for line in lines))
    entries = {
        key: _entry(line, table.decimals, judged[key], notes, printed.get(key))
        for line in lines
        for key in [(line.row, line.column)]
    }
    remarks = _agreed(table, lines)
    if any(line.published is not None for line in lines):
        remarks.append("Parameters must be equal as printed; times are those of a machine and have no verdict.")
    remarks.append(f"Speed-up against {table.rows[0].label}.")
    return _sheet(table, lines, [Grid(columns, _rows(table.rows, columns, entries))], notes, remarks)


@layouts.register("counts")
@layouts.register("settings")
def in_words(table: Table, lines: list[Line]) -> Sheet:
    """Lay out a table of settings or counts: ours above what the paper prints, or the paper's text alone."""
    assert isinstance(table, (SettingsTable, CountsTable))
    judged = word_verdicts(table, lines)
    printed = {(cell.row, cell.column): cell.text for cell in table.printed_cells()}
    entries = {key: Entry(text) for key, text in printed.items()}
    for line in lines:
        key = (line.row, line.column)
        if line.status is Status.OK:
            text = line.text if line.mean is None else f"{line.mean:,.0f}"
            entries[key] = Entry(text, printed[key], judged.get(key, ""))
    columns = [column.name for column in table.columns]
    rows = [
        PrintedRow(row.label, [entries[name, column] for column in columns])
        for name, row in zip(row_names(table.rows), table.rows, strict=True)
    ]
    ours = COUNTS if isinstance(table, CountsTable) else SETTINGS
    remarks = [*_agreed(table, lines), *([ours] if judged else [])]
    alone = "Cells without a verdict stand as the paper prints them." if judged else "As the paper prints it."
    return _sheet(table, lines, [Grid(columns, rows)], _Notes(), [*remarks, alone])


def _p_entry(line: Line | None, table: TestsTable, notes: _Notes) -> Entry:
    if line is None:
        return Entry("")
    published = "" if line.published is None else p_value(line.published, table.decimals)
    said, verdict = table.said.get(line.task), ""
    if said:
        apart = said.apart(line.row, line.column)
        published = f"{'<' if apart else '≥'} {said.below:g}"
        verdict = "" if line.mean is None else AGREES if (line.mean < said.below) == apart else DIFFERS
    if line.mean is None:
        equal = line.status is Status.NO_VARIANCE
        why = "the differences of all pairs are equal" if equal else line.state
        return Entry("-", published, mark=notes.mark(why))
    return Entry(p_value(line.mean, table.decimals), published, verdict, bold=line.mean < table.alpha)


def matrix(lines: list[Line]) -> tuple[list[str], dict[tuple[int, int], Line]]:
    """Return the row labels and the lines of p-values by (row, column) index.

    Above the diagonal the p-values are uncorrected; below it they are corrected by Holm's procedure.
    """
    labels = list(dict.fromkeys(label for line in lines for label in (line.row, line.column)))
    cells = {}
    for line in lines:
        upper = sorted((labels.index(line.row), labels.index(line.column)))
        if line.metric == "p":
            cells[upper[0], upper[1]] = line
        elif line.metric == "p-holm":
            cells[upper[1], upper[0]] = line
    return labels, cells


def _tested(table: TestsTable, lines: list[Line]) -> Iterator[tuple[str, str, list[Line]]]:
    """Yield (name of the compared table, title, lines) for each group of rows compared with one another."""
    for of in dict.fromkeys(line.task for line in lines):
        mine = [line for line in lines if line.task == of]
        groups = table.said[of].among if of in table.said else {}
        for group, rows in (groups or {"": [line.row for line in mine]}).items():
            title = f"{label_of(of)}: {group}" if group else label_of(of)
            yield of, title, [line for line in mine if line.row in rows]


@layouts.register("paired-tests")
def paired_tests(table: Table, lines: list[Line]) -> Sheet:
    """Lay out paired t-tests: one matrix of p-values per group of rows; rows are numbered to keep columns narrow."""
    assert isinstance(table, TestsTable)
    notes, grids = _Notes(), []
    counts: dict[str, set[int]] = {}
    for of, title, mine in _tested(table, lines):
        labels, cells = matrix(mine)
        rows = [
            PrintedRow(f"{i + 1}\u2002{label}", [_p_entry(cells.get((i, j)), table, notes) for j in range(len(labels))])
            for i, label in enumerate(labels)
        ]
        grids.append(Grid([str(j + 1) for j in range(len(labels))], rows, title))
        counts.setdefault(of, set()).update(line.n for line in mine)
    remarks = [f"Above the diagonal uncorrected, below it after Holm; bold below {table.alpha:g}."]
    for of, found in counts.items():
        pairs = sorted(found)
        remarks.append(f"{label_of(of)}: {' to '.join(map(str, pairs[:: max(1, len(pairs) - 1)]))} pairs a test.")
    return _sheet(table, lines, grids, notes, remarks)


def lay_out(study: Study, paper: str, name: str, lines: list[Line]) -> Sheet:
    """Lay out a table with the layout registered for its kind."""
    table = study.exhibits[paper, name]
    return layouts[table.kind](table, lines)  # type: ignore[arg-type]
