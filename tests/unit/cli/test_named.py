"""Tests of papers and tables that a call names: a wrong name is blamed on the call, not on the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.cli import main

CALLS = [
    (["cost", "foo/table1"], "retort cost: no paper is called 'foo'; there are: lengths,"),
    (["cost", "--scale", "foo"], "  --scale: scale: no scale is called 'foo'; there are: paper,"),
    (["record", "foo"], "retort record: no paper is called 'foo'; there are: lengths,"),
    (
        ["record", "wang2023"],
        "retort record: mine.yaml runs pocket at scale pocket, and not 'wang2023'; name the configuration of the run",
    ),
    (["reported", "show"], "retort reported: no reported table is called ''; there are: minilmv2/table1, "),
]


@pytest.mark.parametrize(("call", "line"), CALLS, ids=[" ".join(call) for call, _ in CALLS])
def test_a_wrong_name_of_a_call_gets_one_line(
    call: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text("scale: pocket\n")
    assert main([*call, "--config", str(tmp_path / "mine.yaml")]) == 2
    written = capsys.readouterr().err
    assert any(each.startswith(line) for each in written.splitlines()), written
