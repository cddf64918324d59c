"""Tests of frames: what is written is read back, and each status has its sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.checksums import take
from retort.errors import RetortError
from retort.job.context import this_code
from retort.results.frames import lines_of, read, write
from retort.study.reasons import AT_SCALE, Status, sentence

from tests.tiny.results import frame, line


def refused(path: Path, text: str) -> str:
    """Return why a file with this text, and a checksum of it, is refused."""
    path.write_text(text)
    take(path, "job", this_code(), (), {})
    with pytest.raises(RetortError) as error:
        read(path)
    return str(error.value)


def test_round_trip_and_foreign_files(tmp_path: Path):
    path = tmp_path / "t.csv"
    write(path, frame([line(0.1 + 0.2, None, row='a "quoted", label')]))
    (back,) = lines_of(read(path))
    assert (back.row, back.mean, back.reported) == ('a "quoted", label', pytest.approx(0.3), None)
    text = path.read_text()
    assert refused(path, text.replace(",ok,", ",fine,")).startswith(f"{path}: 'fine' is not a valid Status")
    assert refused(path, text.replace(",0.3,", ",much,")).startswith(f"{path}: could not convert string")
    assert refused(path, "a,b\n1,2\n").startswith(f"{path} is not the CSV of a table or figure")


def test_each_status_has_a_sentence_of_its_own_and_is_stored_next_to_its_reason(tmp_path: Path):
    assert len({sentence(each) for each in Status}) == len(Status)
    assert sentence(Status.NOT_RUN, f"{AT_SCALE}: too deep") == "not run at this scale: too deep"
    write(tmp_path / "t.csv", frame(line(None, status=status, reason="why") for status in Status))
    assert [(cell.status, cell.reason) for cell in lines_of(read(tmp_path / "t.csv"))] == [
        (each, "why") for each in Status
    ]


def test_a_value_that_was_edited_by_hand_is_refused_and_so_is_a_table_without_checksum(tmp_path: Path):
    path = tmp_path / "t.csv"
    write(path, frame([line(71.25)]))
    path.write_text(path.read_text().replace("71.25", "91.25"))
    with pytest.raises(RetortError, match=r"t\.csv is not as it was made: its content has changed; run `retort verify"):
        read(path)
    write(path, frame([line(71.25)]))
    (tmp_path / ".t.csv.checksums.json").unlink()
    with pytest.raises(RetortError, match=r"t\.csv has no checksum next to it"):
        read(path)


@pytest.mark.parametrize("label", ["=1+1", "+ value relation", "-Att", "@cmd", "'quoted", "plain"])
def test_no_cell_is_a_formula_and_pandas_reads_the_file(label: str, tmp_path: Path):
    import pandas

    write(tmp_path / "t.csv", frame([line(-1.5, row=label)]))
    assert list(read(tmp_path / "t.csv")["row"]) == [label]
    cells = pandas.read_csv(tmp_path / "t.csv").iloc[0]
    assert cells["mean"] == -1.5
    assert cells["row"][0] not in "=+-@"
