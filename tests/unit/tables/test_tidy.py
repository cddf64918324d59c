"""Tests of the tidy CSV: what is written is read back, and each status has its sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.errors import RetortError
from retort.tables.tidy import Status, read, sentence, write

from tests.tiny.results import line


def test_tidy_round_trip_and_a_foreign_file(tmp_path: Path):
    lines = [line(0.1 + 0.2, None, row='a "quoted", label')]
    write(tmp_path / "t.csv", lines)
    back = read(tmp_path / "t.csv")[0]
    assert (back.row, back.mean, back.published) == ('a "quoted", label', pytest.approx(0.3), None)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RetortError, match=r"t\.csv is not a tidy CSV"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("status", "reason", "text"),
    [
        (Status.OK, "", "ok"),
        (Status.AS_PRINTED, "", "as the paper prints it"),
        (Status.DIVERGED, "at step 42", "diverged at step 42"),
        (Status.MISSING, "no profile", "missing (no profile)"),
        (Status.NO_VARIANCE, "", "no variance"),
        (Status.NOT_RUN, "", "not run at this scale"),
        (Status.NOT_RUN, "too deep", "not run at this scale: too deep"),
        (Status.PLANNED, "", "not run: this row has no student yet"),
        (Status.QUOTED, "(Else), never run", "quoted (Else), never run"),
        (Status.SERVER, "it alone has the labels", "server: it alone has the labels"),
    ],
)
def test_a_status_is_stored_beside_its_reason(status: Status, reason: str, text: str, tmp_path: Path):
    assert sentence(status, reason) == text
    write(tmp_path / "t.csv", [line(None, status=status, reason=reason)])
    assert [(cell.status, cell.reason) for cell in read(tmp_path / "t.csv")] == [(status, reason)]


def test_every_status_has_its_sentence():
    assert len({sentence(status) for status in Status}) == len(Status)


def test_an_unknown_status_is_refused(tmp_path: Path):
    write(tmp_path / "t.csv", [line(1.0)])
    text = (tmp_path / "t.csv").read_text()
    (tmp_path / "t.csv").write_text(text.replace(",ok,", ",fine,"))
    with pytest.raises(RetortError, match=r"t\.csv, line 2: 'fine' is not a valid Status"):
        read(tmp_path / "t.csv")
