"""Tests of the table across papers: effects against a baseline, on each side, and the names that its file may use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.report.across import questions
from retort.report.index import make_index
from retort.specs.scale import Replacements, Scale

from tests.tiny.reported import MEAN, study_config, table
from tests.tiny.results import opened, quiet
from tests.unit.study.test_scale import SMALLER

ENTRY = {
    "paper": "tiny", "table": "table1", "about": "two layers", "over": ["Acc. %"], "baseline": "B",
    "rows": {"one <row>": "A & <b>_1"},
}  # fmt: skip


def across(config: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Write a table across papers with one question into the study; return the configuration."""
    content = {"objectives": {"title": "Objectives", "compared": [{**ENTRY, **changes}]}}
    Path(config["study"], "papers/across.yaml").write_text(yaml.safe_dump(content, allow_unicode=True))
    return config


def test_an_effect_is_a_row_less_the_baseline_of_its_table(config: dict[str, Any]) -> None:
    (question,) = questions(opened(across(config)), ["tiny"])
    (table,) = question.tables
    ours = table.columns["this run"]
    score = ours.effects["one <row>"]
    # under the same seeds: 70, 72, 74 less 69, 70, 71 is 1, 2, 3, with an error of 1 / sqrt(3) and 2 degrees of freedom
    assert score.interval == pytest.approx((2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5), abs=1e-3)
    assert score.interval
    assert ours.text("one <row>") == f"{score.value:+.1f} ± {(score.interval[1] - score.value):.1f}".replace("-", "−")
    assert ours.text("no such row") == "–"
    assert table.rows == question.plot.rows == ["one <row>"]
    assert questions(opened(config), []) == []


def test_smaller_models_of_this_run_name_their_scale_and_rehearsed_numbers_are_left_out(config: dict[str, Any]) -> None:
    study = opened(across(config))

    def sides(scale: Scale, ours: bool) -> list[str]:
        paper = study.papers["tiny"].model_copy(update={"ours": ours})
        (question,) = questions(replace(study, scale=scale, papers={"tiny": paper}), ["tiny"])
        columns = [*question.tables[0].columns]
        (told,) = question.plot.panels[0].points.values()
        assert all(words.endswith(f", {side}: ") for (_, words, _), side in zip(told, columns, strict=True))
        return columns

    rehearsal = Scale(title="T", judged=False, claims=False)
    reduced = Scale(title="T", judged=False, replacements=Replacements.model_validate(SMALLER))
    assert sides(rehearsal, ours=True) == ["recorded run"]
    assert sides(rehearsal, ours=False) == ["reported"]
    assert sides(reduced, ours=False) == ["reported", f"this run, scale {study.config.scale}"]
    assert sides(reduced, ours=True) == ["recorded run", "this run"]  # studies of ours are run as they are


def test_the_average_that_a_paper_reports_takes_the_place_of_a_mean(here: Path) -> None:
    config = study_config(here, table1=table(MEAN, {"a": "70.0 | 80.0 | 75.2", "b": "71.0 | 80.0 | 75.5"}))
    entry = {"paper": "some", "table": "table1", "over": ["Coin", "Other"], "baseline": "a", "rows": {"one <row>": "b"}}
    (question,) = questions(opened(across(config, **entry)), ["some"])
    (shown,) = question.tables
    # 75.5 less 75.2, where the means of the columns differ by 0.5
    assert shown.columns["reported"].text("one <row>") == "+0.3"


def test_the_index_shows_it_with_links_to_the_tables(config: dict[str, Any]) -> None:
    make_index(quiet(), across(config), ["reports/audit.html"], "reports/index.html")
    page = Path("reports/index.html").read_text()
    assert 'href="tiny/index.html#tiny-table1"' in page
    assert "one &lt;row&gt;" in page
    assert '<th scope="col" class="ours">this run</th>' in page
    assert "interval: of differences under the same seeds where both rows have them; else the runs" in page
