"""Tests of the pages of printed papers that the scale does not run: recorded numbers stand below the published ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retort.report.printed_pages import make_printed_pages
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.tables.recordings import OTHER_SETTINGS, record_scale

from tests.tiny.edit import set_value, write
from tests.tiny.results import made, quiet
from tests.tiny.variant import CLAIMS
from tests.unit.report.pages import without_copies
from tests.unit.study.test_scale import study_config


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Record a run of a printed paper at a smaller scale, and return the folder of its study."""
    monkeypatch.chdir(tmp_path)
    config = study_config(tmp_path / "study", "reduced", seeds=3)
    made(config)
    record_scale(open_study(read_config(config)), "tiny")
    return str(config["study"])


def page_of(study: str) -> str:
    """Return the page of the paper at the scale that runs our own studies alone."""
    config: dict[str, Any] = {"study": study, "scale": "pocket"}
    make_printed_pages(quiet(), config, ["reports/tiny/index.html"], "printed.json")
    return " ".join(without_copies(Path("reports/tiny/index.html").read_text()).split())


def test_a_recorded_number_stands_below_the_published_one_and_is_not_judged(study: str) -> None:
    page = page_of(study)
    assert '<span class="ours">1</span><span class="published recorded">recorded 72.0 ± 2.0</span></td>' in page
    assert "Not run at this scale: the numbers are the published ones." in page
    origin = "cpu: &lt;any&gt;, 2026-01-02, commit abc1234; 3 runs of each student; teacher: half; tasks: mood"
    assert f"Recorded: a run of ours at scale reduced ({origin}, over which means are), not judged." in page
    table = page[page.index('<article class="exhibit" id="tiny-table1"') :].split("</article>")[0]
    assert "verdict" not in table


def test_a_recorded_run_of_other_settings_is_not_shown_in_tables_and_named_so_elsewhere(study: str) -> None:
    write(Path(study), "papers/tiny/claims.yaml", CLAIMS)
    below = "The tables show what it prints, and below it the numbers of the recorded run."
    opening, others = "at scale reduced, in the recorded run", ", with other settings than the scale has now"
    page = page_of(study)
    assert all(text in page for text in (below, f"{opening}</h2>", "<dt>recorded (reduced)</dt>"))
    set_value(Path(study), "scales/reduced.yaml", "replacements", "training", "steps", to=9)
    page = page_of(study)
    assert OTHER_SETTINGS in page
    assert "recorded 72.0" not in page
    assert "The tables show what it prints.</p>" in page
    assert f"{opening}{others}</h2>" in page
    assert f"<dt>recorded (reduced{others})</dt>" in page
    assert f"On the recorded ones, scale reduced{others}: holds 1." in page
    assert json.loads(Path("printed.json").read_text())["tiny"]["recorded"][0]["outdated"]
