"""Tests of the index: what is still to come, what it shows first, and where it leads."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from retort.report.html import TEMPLATES
from retort.report.index import _read_printed, begin_index, entry_of, make_index, show_so_far
from retort.report.outcome import ClaimCounts, Tally, cell_parts, claim_parts, openings
from retort.specs.config import read_config
from retort.study.load import open_study

from tests.tiny.edit import CLAIMS, set_value, write
from tests.tiny.results import quiet
from tests.unit.report.pages import Tags


def begun(config: dict[str, Any]) -> None:
    """Begin the index of a run in a folder that has none."""
    Path("reports/index.html").unlink()
    begin_index(open_study(read_config(config)))


def test_a_run_of_one_table_leaves_the_index_as_it_is(config: dict[str, Any]) -> None:
    whole = Path("reports/index.html").read_text()
    show_so_far(config)
    begin_index(open_study(read_config(config)))
    assert Path("reports/index.html").read_text() == whole
    Path("reports/index.html").unlink()
    show_so_far(config)  # no run will finish it
    assert not Path("reports/index.html").exists()


def test_an_unfinished_index_says_what_is_still_to_come(config: dict[str, Any]) -> None:
    for name in ("table2", "table3"):
        Path(f"results/tables/tiny/{name}.csv").unlink()
    whole = Path("reports/index.html").stat().st_mtime
    begun(config)
    show_so_far(config)
    index = Path("reports/index.html").read_text()
    assert "2 tables and figures are still to come: " in index
    assert "Table 2, Table 3" in index
    assert 'id="tiny-table1"' in index
    assert 'href="tiny/index.html"' not in index  # the page of the paper comes last
    assert Path("reports/index.html").stat().st_mtime == 1 < whole
    assert list(Path("reports").glob("*.part")) == []


def test_an_index_before_the_first_table(config: dict[str, Any]) -> None:
    for path in Path("results/tables/tiny").glob("*.csv"):
        path.unlink()
    for name in ("table1.html", "claims.html"):
        Path("reports/tiny", name).unlink()
    begun(config)
    assert "6 tables and figures are still to come" in Path("reports/index.html").read_text()


def test_pages_lead_to_each_other(index: str, page: str) -> None:
    assert {"tiny/index.html", "tiny/index.html#tiny-table2", "audit.html"} <= set(Tags(index).links)
    assert "../index.html" in Tags(page).links


def test_the_index_shows_the_first_table_of_a_study_of_ours(index: str) -> None:
    assert 'id="tiny-table1"' in index
    assert 'id="tiny-table2"' not in index
    assert "<td>3</td><td>3</td><td>17</td>" in index  # tables, figures, cells: 3 x (2 + 1 average) and 2 x 4


def test_entries_that_older_code_wrote_count_as_none(tmp_path: Path) -> None:
    (tmp_path / "printed.json").write_text('{"tiny": {"slug": "tiny", "tally": {}}}')
    assert _read_printed(tmp_path / "printed.json") == []


def test_an_index_without_an_audit(config: dict[str, Any]) -> None:
    make_index(quiet(), config, [], "reports/index.html")
    assert "audit.html" not in Path("reports/index.html").read_text()


def test_the_index_counts_the_recorded_run_of_a_paper_by_itself(config: dict[str, Any], tmp_path: Path) -> None:
    numbers = {"A & <b>_1": {"Acc. %": [80.0, 1.0]}, "B": {"Acc. %": [60.0, 1.0]}}
    recording = {"run": {"machine": "a laptop"}, "replacements": {}, "runs": 3, "tables": {"table1": numbers}}
    write(tmp_path / "study", "papers/tiny/recorded/reduced.yaml", recording)
    write(tmp_path / "study", "scales/reduced.yaml", {"title": "Between"})
    study = open_study(read_config(config))
    kept = json.loads(json.dumps({"tiny": asdict(entry_of(study, "tiny", openings(study, "tiny")))}))
    Path("printed.json").write_text(json.dumps(kept))
    for papers in ([], ["printed.json"]):  # a paper that is run, and the same as one that is only shown
        make_index(quiet(), config, [], "reports/index.html", papers)
        bars = Path("reports/index.html").read_text().split("Recorded run, scale reduced</h4>")
        assert len(bars) == 2 + len(papers)
        assert 'aria-label="Claims on our numbers: 1 undecided"' in bars[0]
        for bar in bars[1:]:
            assert 'aria-label="Cells of the recorded run: 2 measured, 15 not in the recorded run"' in bar
            assert 'aria-label="Claims on the recorded run: 1 hold"' in bar
    write(tmp_path / "study", "papers/tiny/recorded/reduced.yaml", {**recording, "replacements": {"model": "half"}})
    make_index(quiet(), config, [], "reports/index.html")
    outdated = "Recorded run, scale reduced, with other settings than the scale has now</h4>"
    assert outdated in Path("reports/index.html").read_text()


def test_the_index_counts_claims_of_which_some_cells_are_printed(config: dict[str, Any], tmp_path: Path) -> None:
    both = {"table": "table1", "columns": ["Acc. %", "Pearson"]}
    for name, row in (("cells", "A & <b>_1"), ("than", "B")):
        set_value(tmp_path / "study", CLAIMS, "a-beats-b", name, to=[{**both, "rows": [row]}])
    make_index(quiet(), config, [], "reports/index.html")
    assert 'aria-label="Claims on the published numbers: 1 hold so far"' in Path("reports/index.html").read_text()


def test_the_parts_of_a_bar_differ_in_more_than_their_colours() -> None:
    css = (TEMPLATES / "page.css").read_text()
    fills = dict(re.findall(r"^\.stack \.([a-z-]+), .*?--fill: (.*?);", css, re.MULTILINE))
    parts = [*cell_parts(Tally(**dict.fromkeys(("measured", "agrees", "differs", "inconclusive", "without"), 1)))]
    parts += [*cell_parts(Tally(measured=1, not_run=1)), *claim_parts(ClaimCounts(1, 1, 1, 1, 1, 1))]
    looks = {part.look for part in parts}
    assert looks == set(fills)
    assert len({re.sub(r"var\(--[a-z]+\)", "", fill) for fill in fills.values()}) == len(fills)
    assert "border: 1px solid var(--look)" in css
    assert ".not-run { --look: var(--muted); --fill: none; }" in css
