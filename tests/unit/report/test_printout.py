"""Tests of pages on paper, which does not scroll: no column is cut off, no heading stands alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from retort.tables.layout import Entry, Grid, GridRow, Sheet
from retort.tables.render import rendered

from tests.printout import SIZES, needs_printing, printed


def sheet(columns: int) -> Sheet:
    """Return a table of so many columns of scores, each with a reported value, an interval and a verdict."""
    entry = Entry("78.3 ± 0.7", "80.1 ± 0.4", "inconclusive", difference="−1.8 (−3.0 to −0.6)", runs="(12 runs)")
    heads = [f"Avg. of (Multilingual): no{at}-DistilBERT" for at in range(columns)]
    row = GridRow("Hidden states, uniform and last", [entry] * columns)
    return Sheet("some", "table1", "pocket", "T", "Q?", "C.", [Grid(heads, [row] * 3)])


def test_a_wide_table_is_turned() -> None:
    assert [sheet(columns).wide for columns in (4, 12)] == [False, True]
    narrow, wide = (rendered(sheet(columns), "html") for columns in (4, 12))
    assert 'class="exhibit" id' in narrow
    assert 'class="exhibit wide" id' in wide


@pytest.mark.slow
@needs_printing
@pytest.mark.parametrize("size", SIZES)
def test_no_column_is_cut_off(tmp_path: Path, size: str) -> None:
    pages = printed(rendered(sheet(12), "html"), tmp_path, size)
    words = set(re.split(r"[\s-]+", "".join(pages)))
    assert {f"no{at}" for at in range(12)} <= words


@pytest.mark.slow
@needs_printing
def test_no_heading_stands_alone_at_the_end_of_a_sheet(page: str, tmp_path: Path) -> None:
    headings = [re.sub("<[^>]+>", "", text).strip() for text in re.findall(r"<h[23]>(.*?)</h[23]>", page, re.DOTALL)]
    ends = [text.strip().splitlines()[-1].strip() for text in printed(page, tmp_path, SIZES[0]) if text.strip()]
    assert len(ends) > 1
    assert not set(ends) & set(headings)
