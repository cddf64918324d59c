"""Tests that `retort record` tells what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retort.cli import main

from tests.tiny.results import made
from tests.tiny.variant import CLAIMS, PAPER, TABLE, write_one_table

KEPT = "study/papers/tiny/recorded/float32.yaml"


def test_it_tells_what_it_writes(config: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    made(config, "table1")
    table = {key: value for key, value in TABLE.items() if key != "published"}
    write_one_table(Path(config["study"]), table, paper={**PAPER, "show": ["table1"]}, claims=CLAIMS)
    Path("config.yaml").write_text(json.dumps(config))
    for told in ("new", "as before"):
        assert main(["record", "tiny", "--config", "config.yaml"]) == 0
        assert f"{KEPT}: {told}\n" in capsys.readouterr().out
