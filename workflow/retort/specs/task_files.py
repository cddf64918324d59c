"""The specs of a task's files: the splits that have files of their own, how the rows stand in them, and ratings.

A rating is a number that people gave to a text, such as a score of similarity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from retort.specs import catalogue
from retort.specs.base import Distinct, Flag, Name, Options, Relative, SourceName, Spec, Text, Whole
from retort.specs.reported import check_no_repeats

# Far above any scale that people rate on; float32, in which labels are stored, still has four decimals there.
LARGEST = 1_000_000

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def rating_of(value: Any) -> float:
    """Return a rating as a float, from a number or from its text in decimal digits.

    Python's `float` would also read true as 1, '1_0' as 10, digits of other scripts, and 'nan'.

    Raises:
        ValueError: it is no number, or not between -LARGEST and LARGEST.
    """
    if isinstance(value, bool) or not _DECIMAL.fullmatch(str(value).strip()):
        raise ValueError("not a number in decimal digits")
    number = float(str(value))
    if abs(number) > LARGEST:
        raise ValueError(f"not a number from -{LARGEST} to {LARGEST}")
    return number


Count = Annotated[Whole, Field(gt=0, le=10_000_000_000)]  # rows
Rows = Count | Annotated[Distinct[Count], Field(min_length=1)] | dict[Name, Count]


def _each_column_once(columns: dict[str, str | int]) -> dict[str, str | int]:
    check_no_repeats("column", [str(column) for column in columns.values()])
    return columns


Columns = Annotated[dict[Name, Text | Annotated[Whole, Field(ge=1)]], AfterValidator(_each_column_once)]


UNKNOWN = 10_000  # rows of a split, or blocks of a corpus, that are assumed where only reading tells their number


class FileSplit(Spec):
    """A split that has its own files.

    Args:
        rows: how many there must be: one number, several editions' numbers, or one a subset.
        labelled: whether its rows have labels.
        subsets: one file for each of the task's subsets.
        source: another source than the task's.
        unlabelled_sample: whether a sample of its files may lack the column of labels; nothing is scored then.
    """

    rows: Rows
    labelled: Flag = True
    subsets: Flag = False
    source: SourceName | None = None
    unlabelled_sample: Flag = False

    def most(self, subsets: Sequence[str]) -> int:
        """Return the largest number of rows that the split may have, with all of the task's subsets."""
        each: list[str | None] = list(subsets) if self.subsets else [None]
        return sum(max(self.expected(subset)) for subset in each)

    def expected(self, subset: str | None) -> list[int]:
        """Return the numbers of rows that the split, or one subset of it, may have.

        Args:
            subset: the subset; None for a split without subsets.
        """
        rows = self.rows[subset] if isinstance(self.rows, dict) and subset else self.rows
        return rows if isinstance(rows, list) else [rows]  # type: ignore[list-item]


class Change(Spec):
    """The options and columns in which the files of one split differ from those of the others.

    Args:
        name: configuration of the data set on the hub.
        options: options of the format.
        columns: what a row needs -> column, or its number from 1.
    """

    name: Text | None = None
    options: Options = {}
    columns: Columns = {}


class SplitFiles(Spec):
    """The files of each split at one location of the source, and how they are read.

    Args:
        format: how the rows stand in the files.
        options: options of the format.
        name: configuration of the data set on the hub: 'files' then names splits of it.
        files: file, or split of the data set on the hub; '{subset}' stands for the subset.
        columns: what a row needs -> column, or its number from 1.
        label_names: how the file spells the labels, in the order of `labels`.
        exclude_labels: labels of rows that are left out, such as SNLI's '-'.
        broken: lines without all fields that a split is known to have.
        empty: rows with an empty text that a split is known to have.
        changes: split -> in what its files differ.
    """

    format: Annotated[Name, catalogue.registered("format", catalogue.formats)]
    options: Options = {}
    name: Text | None = None
    files: dict[Name, Relative] = Field(min_length=1)
    columns: Columns = {}
    label_names: Distinct[Text] = []
    exclude_labels: Distinct[str] = []
    broken: dict[Name, Annotated[Whole, Field(ge=0)]] = {}
    empty: dict[Name, Annotated[Whole, Field(ge=0)]] = {}
    changes: dict[Name, Change] = {}

    @model_validator(mode="after")
    def _options(self) -> SplitFiles:
        for options in (self.options, *(change.options for change in self.changes.values())):
            catalogue.formats()[self.format].check(options)
        return self

    def of(self, split: str) -> Change:
        """Return how the files of a split are read, with what differs for that split."""
        change = self.changes.get(split, Change())
        return Change(
            name=change.name or self.name,
            options={**self.options, **change.options},
            columns={**self.columns, **change.columns},
        )
