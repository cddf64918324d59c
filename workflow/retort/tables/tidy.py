"""The tidy CSV: one line per printed cell. Everything that is printed, judged or plotted is read from it."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from retort.errors import RetortError

OK = "ok"
SERVER = "server"  # prefix of the status of a score that only a test server can compute
AGAIN = "delete it, the next run makes it again"
NUMBERS = ("published", "published_std", "mean", "std")


@dataclass(frozen=True)
class Line:
    """One printed cell: its table, row and column, the published value, and our value.

    Args:
        unit: 'x100' (scores times 100), 'M' (million parameters), 'ms', 'times' (speed-up), 'p' (p-values), 'rows'.
        std: sample standard deviation (n - 1); None for a single value.
        status: 'ok', 'diverged at step ...', 'not run at this scale', 'server: ...', or 'missing (why)'.
        note: what a reader of the value must know, such as that it was measured on a part of the data.
        text: our value as the paper would print it, in a cell that holds a setting.
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
    status: str = OK
    scale: str = ""
    note: str = ""
    text: str = ""


HEADER = [field.name for field in fields(Line)]
LATER = HEADER[-1:]  # columns that `read` does not require


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    return "" if value is None else str(value)


def write(path: Path | str, lines: Iterable[Line]) -> None:
    """Write a tidy CSV atomically: the same lines give the same bytes, and no partial file is ever at the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.part")
    with scratch.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows([_written(getattr(line, name)) for name in HEADER] for line in lines)
    scratch.replace(path)


def read(path: Path | str) -> list[Line]:
    """Read the lines of a tidy CSV.

    Raises:
        RetortError: the file has other columns or holds no number where one belongs.
    """
    with Path(path).open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        if reader.fieldnames not in (HEADER, HEADER[: -len(LATER)]):
            raise RetortError(f"{path} is not a tidy CSV", AGAIN)
        try:
            return [_line(record) for record in reader]
        except ValueError as error:
            raise RetortError(f"{path}, line {reader.line_num}: {error}", AGAIN) from None


def _line(record: dict[str, str]) -> Line:
    texts = {name: value for name, value in record.items() if name not in (*NUMBERS, "n")}
    numbers = {name: float(record[name]) if record[name] else None for name in NUMBERS}
    return Line(**texts, **numbers, n=int(record["n"]))  # type: ignore[arg-type]
