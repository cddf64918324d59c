"""Read the cells of a table that a paper reports, from a CSV file or from its LaTeX source."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from retort.errors import RetortError, escape_controls
from retort.specs.reported import NOTHING, read_number

Cells = list[list[str]]
TABULAR = re.compile(r"\\begin\{(tabular[x*]?)\}(.*?)\\end\{\1\}", re.DOTALL)
RULES = re.compile(r"\\(toprule|midrule|bottomrule|hline|(c(line|midrule)|addlinespace)(\(\w+\))?([\[{][^\]}]*[\]}])?)")
ARGUMENT = r"\s*\{((?:[^{}]|\{[^{}]*\})*)\}"  # of a LaTeX command; one more level of braces may stand inside
# LaTeX, Markdown or plain text -> what the block of reported cells has; in this order, until none is left
PLAIN = [
    (r"\\(?:cite\w*|footnote|label)" + ARGUMENT, ""),
    (r"\\multirow" + 2 * ARGUMENT + ARGUMENT, r"\3"),
    (r"(?<!\\)\$", ""),
    (r"\\(?:text|math|underline|emph)\w*" + ARGUMENT, r"\1"),
    (r"\\pm\b|\+/?-", "±"),
    (r"\\times\b", "×"),
    (r"(?<=\d)_(\{[\d.]+\}|\d[\d.]*)", r"±\1"),  # a subscript below a number is its deviation
    (r"[_^](?=\{)", ""),
    (r"\\([%#&_$])", r"\1"),
    (r"\\[a-zA-Z]+\*?|\\[,;!]|\*\*|[{}^]|(?<=\d)_", ""),
    (r"[~\s]+", " "),
    (r"\|", "/"),
    (r"^(-+|–|—|[nN]/[aA])$", "-"),
]


@dataclass(frozen=True)
class GivenTable:
    """A table as its source has it.

    Args:
        caption: its caption; empty if the source has none.
        stub: the headings over the labels of the rows, one for each level of a label.
        columns: (heading, label) of each column.
        rows: (group, label, cells) of each row; the levels of a label are joined by ' / '.
    """

    caption: str
    stub: list[str]
    columns: list[tuple[str, str]]
    rows: list[tuple[str, str, list[str]]]


def read_table(path: Path) -> GivenTable:
    """Read a table from a CSV file, or from a LaTeX file whose first tabular it is.

    Raises:
        RetortError: the file cannot be read or holds no table with numbers, or a row has too many cells.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise RetortError(f"{path}: cannot be read ({why})", "name a table as .csv or .tex") from None
    latex = path.suffix == ".tex"
    caption = re.search(r"\\caption" + ARGUMENT, text) if latex else None
    try:
        cells = [[plain(cell) for cell in row] for row in (_latex(path, text) if latex else _csv(text))]
    except csv.Error as error:
        raise RetortError(f"{path}: is no CSV file ({error})", "write a line a row, its cells between commas") from None
    return _table(path, plain(caption[1]) if caption else "", [row for row in cells if any(row)])


def plain(text: str) -> str:
    """Return the text of a cell without markup; a missing value is '-'."""
    text = text.strip()
    for pattern, new in PLAIN:
        text = re.sub(pattern, new, text)
    return escape_controls(re.sub(r"\s*±\s*", "±", text).strip())


def _csv(text: str) -> Cells:
    """Return the cells of a CSV file; the separator is the most frequent one of its first line."""
    first = text.partition("\n")[0]
    return list(csv.reader(io.StringIO(text), delimiter=max(",;\t", key=first.count)))


def _latex(path: Path, text: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the first tabular; a cell over n columns is repeated n times."""
    found = TABULAR.search(re.sub(r"(?<!\\)%.*", "", text))
    if not found:
        raise RetortError(f"{path}: no tabular stands in it", "name the LaTeX source of one table")
    options = r"\s*(\[\w\])?" + ARGUMENT * (1 if found[1] == "tabular" else 2)
    body = RULES.sub("", re.sub(rf"^{options}", "", found[2]))
    for line in re.split(r"\\\\(?:\[[^\]]*\])?", body):
        row = []
        for cell in re.split(r"(?<!\\)&", line):
            spans = re.search(r"\\multicolumn\s*\{([1-9][0-9]?)\}" + 2 * ARGUMENT, cell)
            row += [spans[3]] * int(spans[1]) if spans else [cell]
        yield row


def _table(path: Path, caption: str, lines: Cells) -> GivenTable:
    """Return the table that some lines of cells hold: a header of one or two lines, groups, and rows."""
    first = next((number for number, line in enumerate(lines) if any(map(read_number, line[1:]))), 0)
    if not first:
        raise RetortError(f"{path}: no header with rows of numbers below it stands in it", "give the whole table")
    two = first > 1 and not _is_group(lines[1])
    heads, below = lines[: 1 + two], lines[1 + two :]
    width = max(map(len, heads))
    if long := [line for line in below if len(line) > width]:
        raise RetortError(
            f"{path}: row '{long[0][0]}' has {len(long[0])} cells for {width} columns", "complete the header"
        )
    heads, body = ([[*line, *[""] * (width - len(line))] for line in part] for part in (heads, below))
    filled = [line for line in body if not _is_group(line)]
    levels = next(column for column in range(1, width) if any(read_number(line[column]) for line in filled))
    over = heads[0][levels:] if two else [""] * (width - levels)
    above: Iterator[str] = accumulate(over, lambda before, text: text or before)  # empty: as the column before
    labels = heads[-1][levels:]
    columns = [(heading if label else "", label or heading) for heading, label in zip(above, labels, strict=True)]
    rows, group, last = [], "", [""] * levels
    for line in body:
        if _is_group(line):
            group = line[0]
            continue
        last = [text or before for text, before in zip(line[:levels], last, strict=True)]
        rows.append((group, " / ".join(filter(None, last)), [text or "-" for text in line[levels:]]))
    stub = [next((line[level] for line in reversed(heads) if line[level]), "Model") for level in range(levels)]
    return _with_split_columns(GivenTable(caption, stub, columns, rows))


def _is_group(line: list[str]) -> bool:
    """Return whether a line holds one text, over the rows below it: in its first cell, or over all of them."""
    return len(set(filter(None, line))) == 1 and bool(line[0])


def _with_split_columns(table: GivenTable) -> GivenTable:
    """Return a table with two columns for each one whose label and cells have two parts: 'MNLI-m/mm', '84.6/83.4'."""
    columns: list[tuple[str, str]] = []
    cells: list[list[str]] = [[] for _ in table.rows]
    for number, (heading, label) in enumerate(table.columns):
        texts = [row[2][number] for row in table.rows]
        parts = re.search(r"([\w.]+)\s*/\s*-?([\w.]+)\)?$", label)
        if parts and all(text in NOTHING or all(map(read_number, text.split("/"))) for text in texts):
            columns += [(label, parts[1].rpartition("-")[2]), (label, parts[2])]
            texts_of = [text.split("/") if "/" in text else [text, "-"] for text in texts]
        else:
            columns.append((heading, label))
            texts_of = [[text] for text in texts]
        for row, added in zip(cells, texts_of, strict=True):
            row += map(str.strip, added)
    rows = [(group, label, row) for (group, label, _), row in zip(table.rows, cells, strict=True)]
    return GivenTable(table.caption, table.stub, columns, rows)
