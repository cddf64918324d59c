"""Tests that a run names the file and the line of a configuration that is not what it looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SNAKEFILE, run_snakemake

pytestmark = pytest.mark.workflow
MINE = ["--configfile", "mine.yaml"]
# the file of the folder, a file of the command line, further arguments, what is said
# fmt: off
MISTAKES: dict[str, tuple[str, str, list[str], list[str]]] = {
    "text": ("scale: pocket\nscale: paper\n", "", [], ["config.yaml: line 2: 'scale' is given twice"]),
    "text of the command line's file": (
        "scale: pocket\n", "checkpoint_seconds: 010\n", MINE, ["mine.yaml: line 1: YAML reads 010 as another number"],
    ),
    "words of the command line": (
        "scale: pocket\n", "", ["--config", "keep_weights=true", "papers=null", "device=gpu"], ["1 problem in the"],
    ),
    "keys of each": (
        "scale: pocket\n", "keep_weight: true\n", [*MINE, "--config", "device=gpu"],
        ["  mine.yaml: keep_weight: no key is called 'keep_weight'", "  --config: device: Input should be"],
    ),
}
# fmt: on


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_blamed_on_what_gives_it(mistake: str, tmp_path: Path) -> None:
    own, mine, arguments, lines = MISTAKES[mistake]
    (tmp_path / "config.yaml").write_text(own)
    (tmp_path / "mine.yaml").write_text(mine)
    done = run_snakemake(tmp_path, "--snakefile", SNAKEFILE, "--dry-run", *arguments)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in said
    assert all(line in said for line in lines), said
