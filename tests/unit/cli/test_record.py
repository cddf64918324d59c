"""Tests that `retort record` shows what it would change and asks before it writes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from retort.cli import main

from tests.tiny.results import made
from tests.tiny.variant import CLAIMS, PAPER, TABLE, write_one_table

KEPT = "study/papers/tiny/recorded/float32.yaml"


@pytest.mark.parametrize(
    ("typed", "options", "writes"),
    [
        ("y\n", [], True),
        (" YES\n", [], True),
        ("n\n", [], False),
        ("\n", [], False),
        ("", [], False),
        ("", ["--yes"], True),
    ],
)
def test_it_writes_only_after_a_yes(
    typed: str, options: list[str], writes: bool, config: dict[str, Any], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    made(config, "table1")
    table = {key: value for key, value in TABLE.items() if key != "means"}
    write_one_table(Path(config["study"]), table, paper={**PAPER, "show": ["table1"]}, claims=CLAIMS)
    Path("config.yaml").write_text(json.dumps(config))
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert main(["record", "tiny", "--config", "config.yaml", *options]) == int(not writes)
    said = capsys.readouterr().out
    assert "+runs: 3\n" in said  # of the file that would be new
    assert ("write this? [y/N] " in said) == (not options)
    assert ("nothing was written; --yes writes without asking\n" in said) != writes
    assert Path(KEPT).exists() == writes
