"""What papers report in tables: the text of each cell, its number, what the number measures, and which are possible."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from retort.specs import catalogue
from retort.specs.base import Label, Name, OptionalLabel, OptionalText, Spec, Text, left_out

Values = Literal["runs", "batches"]
TIMED = ("latency", "speed-up")  # the metrics that are computed from measured times
ROWS, TOKENS = 1, 32  # the batch size and length that every profile is measured with
PASSES = 30  # of a run, unless a scale runs fewer


# How long a model takes: each table says which measurements it reports.


@dataclass(frozen=True, order=True)
class Timing:
    """One latency measurement of a profile.

    Args:
        batch: rows per batch.
        length: tokens per row.
        device: 'cpu' or 'gpu'; empty for the device that the profile's job has.
        values: one value for each of the 'runs' (the median over its batches), or for each of the 'batches'.
    """

    batch: int = ROWS
    length: int = TOKENS
    device: Annotated[str, left_out("")] = ""
    values: Annotated[Values, left_out("runs")] = "runs"

    @property
    def name(self) -> str:
        """The key of the measurement in the profile's file, unless it is the one that every profile has."""
        each = "-each-batch" if self.values == "batches" else ""
        return f"batch-{self.batch}-length-{self.length}{f'-{self.device}' * bool(self.device)}{each}"


def timing_called(name: str, length: int | None, values: Values = "runs") -> Timing:
    """Return the measurement that a cell with a latency or a speed-up shows.

    Args:
        name: the `timing` of the cell: 'batch-16' or another number, 'cpu', 'gpu', or empty.
        length: the tokens per row that the table gives; None for the default of 32.
        values: one value for each of the 'runs' or the 'batches'.

    Raises:
        ValueError: the name is none of these.
    """
    match = re.fullmatch(r"batch-([1-9]\d{0,4})|cpu|gpu|", name)
    if not match:
        raise ValueError(f"there is no timing '{name}'; give 'batch-16' or another number, 'cpu' or 'gpu'")
    return Timing(int(match[1] or ROWS), length or TOKENS, name if name in ("cpu", "gpu") else "", values)


# The block of reported cells in the file of a table: a header over the columns, then a line a row.
#
# The fields of a line are split by '|'. For a table with the stub `[Objectives]` and the columns `QNLI` and `SST-2`:
#
#     Objectives   | QNLI      | SST-2
#     Vanilla KD   | 66.5±1.49 | 84.7±0.16
#     Att-MSE      | 84.3±0.18 | 89.2±0.40
#
# If a column has a heading above its label, a first line holds the headings, each once over the columns that it spans,
# and a second line the labels.


NO_STUB = "-"  # stands over the names of the rows if a table reports no heading there


def header_lines(stub: Sequence[str], columns: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the fields of each header line.

    Args:
        stub: the headings over the names of the rows.
        columns: (heading, label) of each column; the heading is empty if none stands above the label.
    """
    columns = list(columns)
    corner = " / ".join(stub) or NO_STUB
    labels = [label for _, label in columns]
    spans = [heading for heading, _ in itertools.groupby(heading for heading, _ in columns)]
    return [[corner, *spans], ["", *labels]] if any(spans) else [[corner, *labels]]


def read_block(block: str, heads: list[list[str]], rows: list[str]) -> list[list[str]]:
    """Return the cells of each row; if the block is empty, an empty list for each row.

    Args:
        block: the text of the block.
        heads: the fields of each header line that the block must have.
        rows: the names that its rows must have, in order.

    Raises:
        ValueError: the header or a row is missing or has another name, or a row has another number of cells.
    """
    lines = [[field.strip() for field in line.split("|")] for line in block.splitlines() if line.strip()]
    if not lines:
        return [[] for _ in rows]
    if lines[: len(heads)] != heads:
        right = " and below it ".join(f"`{' | '.join(head)}`" for head in heads)
        raise ValueError(f"reported: the header is not that of 'stub' and 'columns'; write {right}")
    body = lines[len(heads) :]
    for number, (line, name) in enumerate(itertools.zip_longest(body, rows), start=1):
        if line is None or line[0] != name:
            found, said = "missing" if line is None else f"'{line[0]}'", f"'{name}'" if name else "nothing"
            raise ValueError(f"reported: row {number} is {found}; 'rows' says {said}")
        if len(line) != len(heads[-1]):
            raise ValueError(f"reported: row '{name}' has {len(line) - 1} cells for {len(heads[-1]) - 1} columns")
    return [cells for _, *cells in body]


# Numbers, and what they measure.


NOTHING = {"-", "–"}  # a cell in which a paper reports no value
AVERAGE, CHANGE = "average", "change"
# metrics of a model rather than of a score on a task -> their unit in the CSV files of the tables
OF_A_MODEL = {
    "parameters": "M",
    "without_embeddings": "M",
    "without_pooler": "M",
    "latency": "ms",
    "speed-up": "times",
    "layers": "layers",
    "hidden": "units",
    "as-reported": "",
}
AS_REPORTED = "as-reported"  # what is only reported, and never measured
SHAPE = ("layers", "hidden")  # they follow from the architecture; the others of OF_A_MODEL need a profile
# the names that papers use for a metric; any other name must be explained in `because`
METRIC_NAMES = {
    "accuracy": {"Acc", "Accuracy"},
    "f1": {"F1"},
    "exact": {"EM", "Exact Match"},
    "matthews": {"Mcc", "Matthews Corr"},
    "pearson": {"Pearson"},
    "spearman": {"Spearman"},
}
UNBOUNDED = "threshold"  # ending of the names of metrics that are measured in logits
ROUNDED = 0.01  # what rounding may add to a recorded number
_VALUE = r"[+-]?\d{1,3}(?:,\d{3})+|[+-]?\d+(?:\.\d+)?(?:e-?\d+)?"
_NUMBER = re.compile(
    rf"(?P<text>×?(?P<value>{_VALUE})(?P<unit>[BMk%×x])?)"
    r"(?:\s*±\s*(?P<after>\d+(?:\.\d+)?)|\s*\((?P<within>\d+(?:\.\d+)?)\))?"
)


def metric_limits(metric: str) -> tuple[float, float]:
    """Return the least and the greatest value that a metric can have; its name may end in '/<subset>'.

    A metric declares them where it is registered; those that a task type names itself are fractions or thresholds.
    """
    name = metric.split("/")[0]
    entry, of_task_types = catalogue.metrics().get(name), catalogue.task_types().values()
    if (
        entry is None
        and not name.endswith(UNBOUNDED)
        and any(name in each.facts.get("metrics", ()) for each in of_task_types)
    ):
        return 0.0, 1.0
    limits = entry.facts.get("limits", {}) if entry else {}
    return limits.get("ge", -math.inf), limits.get("le", math.inf)


def check_possible(metric: str, mean: float, std: float | None) -> None:
    """Check that a number of a table is possible; scores are times 100, and a change may have any value.

    Args:
        metric: what is measured.
        mean: the number, or the mean of several runs.
        std: the standard deviation over the runs; None if there is none.

    Raises:
        ValueError: it is impossible.
    """
    if metric == CHANGE:
        return
    if metric in OF_A_MODEL:
        if mean <= 0:
            raise ValueError(f"{metric} is above 0, not {mean:g}")
        return
    least, greatest = (-100.0, 100.0) if metric == AVERAGE else (100 * limit for limit in metric_limits(metric))
    if not least - ROUNDED <= mean <= greatest + ROUNDED:
        raise ValueError(f"{metric} is from {least:g} to {greatest:g}, not {mean:g}")
    largest = (greatest - least) / math.sqrt(2)  # of two runs, one at each limit; more runs have a smaller one
    if std is not None and std > largest + ROUNDED:
        raise ValueError(f"the standard deviation of {metric} is at most {largest:.1f}, not {std:g}")


@dataclass(frozen=True)
class Number:
    """A number as a paper reports it.

    Args:
        text: as reported, with its unit and without its standard deviation ('109M', '×2.0', '76.30').
        value: the number without its unit (109.0 for '109M').
        std_text: the standard deviation as reported; empty if there is none.
        error: the largest error of a number that is computed from reported numbers; None for a reported number.
    """

    text: str
    value: float
    std_text: str = ""
    error: float | None = None

    @property
    def std(self) -> float | None:
        """The standard deviation; None if none is reported."""
        return float(self.std_text) if self.std_text else None

    @property
    def half(self) -> float:
        """The largest rounding error: half a unit of the last reported digit."""
        if self.error is not None:
            return self.error
        digits, _, exponent = re.sub(r"[^\d.e-]", "", self.text).partition("e")
        return 0.5 * 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))

    def is_size(self, size: float) -> bool:
        """Return whether the number is `size`, in M for B, rounded or truncated: '8.5k' stands for 8,451 and 8,599."""
        unit = 1000 if self.text.endswith(("k", "B")) else 1
        return (self.value - self.half) * unit - 1e-9 <= size < (self.value + 2 * self.half) * unit


def read_number(text: str) -> Number | None:
    """Return the number in the text of a cell; None if the text is not a finite number or is empty."""
    match = _NUMBER.fullmatch(text.strip())
    value = float(match["value"].replace(",", "")) if match else math.inf
    if not match or math.isinf(value):
        return None
    return Number(match["text"], value, match["after"] or match["within"] or "")


@dataclass(frozen=True)
class ReportedCell:
    """One reported cell: the names of its row and column, its text, and its number (None if the text is no number).

    Args:
        runs: the number of runs behind a mean; 0 if it is not known.
        by_seed: (seed, score) of each run of ours behind a recorded mean.
        decimals: those that statements give a recorded number, which has more; None for a reported one.
        counted: (data set, split) whose number of rows the cell holds; None if it holds no such number.
    """

    row: str
    column: str
    text: str
    number: Number | None
    runs: int = 0
    by_seed: tuple[tuple[int, float], ...] = ()
    decimals: int | None = None
    counted: tuple[str, str] | None = None

    @property
    def stated(self) -> Number | None:
        """Its number with the text that statements give it; the value stays exact."""
        if self.number is None or self.decimals is None:
            return self.number
        std = "" if self.number.std is None else f"{self.number.std:.{self.decimals}f}"
        return Number(f"{self.number.value:.{self.decimals}f}", self.number.value, std)


def recorded_cell(row: str, column: str, values: Sequence[float], runs: int) -> ReportedCell:
    """Return the cell of a recorded number: [mean] of one run, or [mean, standard deviation] of several.

    A number is recorded with at least three decimals (`tables/recordings.py`), but YAML drops zeros at the end.

    Args:
        row: the name of its row.
        column: the name of its column.
        values: the recorded values.
        runs: the number of runs behind a mean with a deviation; 0 if it is not known.
    """
    mean, *std = values
    std_text = str(std[0]) if std else ""
    text = f"{mean:.3f}" if round(mean, 3) == mean else f"{mean:.10g}"
    return ReportedCell(row, column, text, Number(text, mean, std_text), runs if std else 1)


class Measure(Spec):
    """What a number measures; the column of the cell, its row, or the two together give these fields.

    Args:
        task: an entry of workflow/tasks.
        subset: a subset of the task that is scored by itself: a language, matched.
        timing: how a time is measured: batch-16 or another number, cpu, gpu.
        metric: what is measured: a metric of the task, or parameters, latency, ... of the model.
        split: which split; else the table's.
        tasks: task -> metric: a reported mean over tasks not shown here.
        reported: the paper's own word for the metric.
        because: why the metric is not what that word means.
    """

    task: Name = ""
    subset: Name = ""
    timing: Name = ""
    metric: OptionalLabel = ""
    split: Literal["", "dev", "test"] = ""
    tasks: dict[Name, Text] = {}
    reported: OptionalLabel = ""
    because: OptionalText = ""

    def _wrong(self) -> Iterator[str]:
        odd = bool(self.reported) and self.reported not in METRIC_NAMES.get(self.metric, ())
        if odd and not self.because:
            yield f"'{self.reported}' is not a word for {self.metric or 'no metric'}; say why in 'because'"
        if self.because and not odd:
            yield "'because' explains why 'reported' and 'metric' differ, and here they do not"
        timing_called(self.timing, None)  # for its error: there must be such a measurement
        if self.timing and self.metric and self.metric not in TIMED:
            yield f"'timing' is of a latency or a speed-up, not of '{self.metric}'; a task has a 'subset'"
        if self.subset and self.metric in TIMED:
            yield f"'subset' is of a score, not of '{self.metric}'; say how it is measured in 'timing'"


class Heading(Spec):
    """A column: its label, and the heading above it that spans several columns.

    Args:
        label: as reported.
        heading: what stands above the label, over one column or several.
    """

    label: Label
    heading: OptionalLabel = ""

    @property
    def name(self) -> str:
        """The full name of the column: its label, after the heading above it if there is one."""
        return f"{self.heading}: {self.label}" if self.heading else self.label


class TextRow(Spec):
    """A reported row; its label may have several levels split by ' / ', one for each heading of the stub.

    Args:
        label: as reported.
        group: the heading or row under which the label stands.
    """

    label: Label
    group: OptionalLabel = ""


def row_names(rows: Iterable[TextRow]) -> list[str]:
    """Return the full name of each row: its label, after its group if another row has the same label."""
    rows = list(rows)
    labels = [row.label for row in rows]
    return [f"{row.group}: {row.label}" if labels.count(row.label) > 1 else row.label for row in rows]


def check_no_repeats(what: str, names: list[str]) -> None:
    """Raise an error if a name occurs twice.

    Args:
        what: the word for such a name in the message, such as "row".
        names: the names.

    Raises:
        ValueError: a name occurs twice.
    """
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{what} '{repeated[0]}' stands twice")
