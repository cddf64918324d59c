"""Tests of tables: cells with and without a number, escaping, each format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from retort.formatters import number, with_std
from retort.judgement.comparisons import Stated
from retort.judgement.recorded import side_of_recording
from retort.results.collect import read_scores
from retort.specs.paper import Recording
from retort.specs.reported import Number
from retort.specs.yaml_reader import read_yaml
from retort.tables import render
from retort.tables.claims import judge_all
from retort.tables.layout import Entry, Grid, GridRow, Sheet

from tests.conftest import ROOT
from tests.tiny.results import SCORES, change_score, collected, frame, made, opened, paths, write_results
from tests.tiny.variant import PAPER_OF_OTHERS, ROWS, TABLE, UNREPORTED, write_one_table, write_study

# --- collecting


def test_golden_table(config: dict[str, Any]):
    lines, out = made(config)
    a, b = (
        next(one for one in lines if one.student == s and one.column == "Acc. %") for s in ("tiny-kd", "tiny-attention")
    )
    assert (a.mean, a.std, a.n, a.reported) == (pytest.approx(72), pytest.approx(2), 3, 70)
    assert (b.mean, b.reported) == (pytest.approx(70), 60)
    assert out["md"].splitlines()[4:9] == [
        "|  | Acc. % | Pearson |",
        "| --- | ---: | ---: |",
        "| Teacher | 80.0 | 90.0 |",
        r"| A & \<b\>\_1 | **72.0 ± 2.0**<br>*70.0 ± 1.0*<br>+2.0 (−1.7 to 5.7)<br>inconclusive "
        "| **60.0 ± 10.0**<br>*50.0 ± 1.0*<br>+10.0 (−15.0 to 35.0)<br>inconclusive |",
        "| B | 70.0 ± 1.0<br>*60.0 ± 1.0*<br>+10.0 (7.4 to 12.6)<br>differs | 52.0 ± 10.6 |",
    ]
    assert "Verdicts on 3 cells: differs 1, inconclusive 2." in out["md"]
    assert r"Two \| students" in out["md"]
    assert r"A \& $<$b$>$\_1 &" in out["tex"]
    assert r"Acc. \%" in out["tex"]
    assert "A &amp; &lt;b&gt;_1" in out["html"]
    assert "<i>one" not in out["html"]


def test_a_row_that_is_not_what_the_paper_prints_says_so_in_place_of_a_verdict(config: dict[str, Any]):
    rows = [*ROWS[:1], {**ROWS[1], "differs": "without <more> rows"}, *ROWS[2:]]
    write_study(Path(config["study"]), table1={**TABLE, "rows": rows})
    lines, out = made(config)
    of_row = [one for one in lines if one.student == "tiny-kd"]
    assert {one.differs for one in of_row} == {"without <more> rows"}
    assert {(one.verdict, one.low, one.p) for one in of_row} == {("", None, None)}
    assert r"**72.0 ± 2.0**<br>*70.0 ± 1.0*<br>without \<more\> rows |" in out["md"]
    assert r"70.0 $\pm$ 1.0 without $<$more$>$ rows" in out["tex"]
    assert '<span class="difference">without &lt;more&gt; rows</span>' in out["html"]
    assert "Verdicts on 1 cell: differs 1." in out["md"]
    study, cells = opened(config), {"Acc. %": [70.0]}
    recorded = Recording.model_construct(tables={"table1": {rows[1]["label"]: cells, "B": cells}}, runs=3)
    assert list(side_of_recording(study, "tiny", recorded).numbers) == [("table1", "B", "Acc. %")]
    (claim,) = judge_all(study, "tiny", {"table1": frame(lines)})
    assert claim.reported.verdict == "supported"
    assert claim.ours.verdict == "not tested"
    assert "ours is not what the row reports: without <more> rows" in claim.ours.numbers


def test_a_column_that_is_only_reported_stands_as_it_is(config: dict[str, Any]):
    columns = [TABLE["columns"][0], {"label": "FLOPs", "metric": "as-reported"}]
    reported = "- | Acc. % | FLOPs\nTeacher | 79.0 | 22.5B\nB | 70.0 | 11.3B\n"
    table = {**UNREPORTED, "columns": columns, "rows": [ROWS[0], ROWS[2]], "numbers": 4, "reported": reported}
    write_one_table(Path(config["study"]), table, paper=PAPER_OF_OTHERS)
    lines, out = made(config)
    assert {(one.status, one.verdict) for one in lines if one.column == "FLOPs"} == {("as-reported", "")}
    assert "<br>*22.5B* |" in out["md"]
    assert "as the paper reports it" in out["md"]


def test_a_diverged_seed(config: dict[str, Any]):
    lines, out = made(config, **{"tiny-kd": {"mood": [0.7, None, None], "rating": [0.5, 0.6, 0.7]}})
    cell = next(one for one in lines if one.student == "tiny-kd" and one.column == "Acc. %")
    assert (cell.state, cell.mean, cell.n) == ("diverged at step 42, 43 (2 of 3 seeds)", None, 1)
    assert "| div.<sup>a</sup><br>*70.0 ± 1.0* |" in out["md"]
    assert "<sup>a</sup> diverged at step 42, 43 (2 of 3 seeds)" in out["md"]
    assert 'class="ours">div.</button><sup>a</sup>' in out["html"]
    assert r"div.\textsuperscript{a}" in out["tex"]


@pytest.mark.parametrize(("value", "text"), [(41.55, "41.5"), (57.45, "57.5"), (82.75, "82.8"), (74.55, "74.5")])
def test_a_tie_is_rounded_alike_in_tables_in_claims_and_for_bold(value: float, text: str):
    assert number(value, 1) == with_std(value, None, 1) == f"{round(value, 1)}" == text
    assert Stated(Number("1.0", 1.0), 0.0).decide(np.array([value]), "").result == text


def test_profiles(config: dict[str, Any]):
    lines, out = made(config, "table2")
    values = {(one.student, one.metric): one for one in lines}
    assert values["tiny-attention", "latency"].mean == 2.5
    assert values["tiny-attention", "latency"].std == pytest.approx(0.5**0.5)
    assert values["tiny-attention", "speed-up"].mean == 2.0
    # both times have a deviation of 0.5^0.5 / 2.5 of their mean
    assert values["tiny-attention", "speed-up"].std == pytest.approx(2.0 * (2 * 0.08) ** 0.5)
    assert values["tiny-teacher", "speed-up"].std == 0.0  # against itself
    assert (
        "| B | 1.50<br>*1.50*<br>0.00<br>agrees | 0.50 | 2.50 ± 0.71<br>*9.00 ± 1.00*<br>−6.50 | 2.00 ± 0.80 |"
        in out["md"]
    )


def test_paired_tests_table(config: dict[str, Any]):
    lines, out = made(config, "table3")
    p = {one.metric: one for one in lines}
    assert len(lines) == 7  # the teacher is a baseline and left out
    # differences: 1, 2, 3 (mood) and 10, 4, 10 (rating); the p-values are worked out in the tests of paired tests
    assert (p["difference"].mean, p["difference"].std, p["p"].n) == (pytest.approx(5), pytest.approx(4), 6)
    assert (p["p"].task, p["p-holm"].mean) == ("table1", p["p"].mean)
    found = [p[name].mean for name in ("p", "p-tasks-fixed", "p-tasks-random")]
    assert found == pytest.approx([0.02802, 0.02984, 0.3440], abs=1e-4)
    assert "| 1 A & \\<b\\>\\_1 |  | **0.030** |" in out["md"]
    assert "**Table 1, random tasks**" in out["md"]
    assert "6 pairs of task and seed a test" in out["md"]
    assert "0.028" not in out["md"]  # nothing is reported, so the test over all pairs is not shown
    _, out = made(config, "table3", **{"tiny-attention": SCORES["tiny-kd"]})
    assert "-<sup>a</sup>" in out["md"]
    assert "<sup>a</sup> all differences are equal" in out["md"]


def test_tex_of_every_special_letter():
    assert render.tex_escape(r"\&%$#_{}~^") == (r"\textbackslash{}\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}")
    assert render.tex_escape("*own ✓") == r"{*}own $\surd$"  # after a line's end, a star would belong to it
    assert [render.markdown_escape(each) for each in ("## of M", "1. a", "- b", "-1 c", "#1")] == [
        r"\## of M", r"1\. a", r"\- b", "-1 c", "#1",
    ]  # fmt: skip
    assert [render.with_stop(each) for each in ("a", "a.", "a?")] == ["a.", "a.", "a?"]
    assert render.tex_escape("−1 ± 2 [x]") == r"$-$1 $\pm$ 2 {[}x{]}"
    assert render.tex_escape("a\n\nb") == "a  b"  # a caption has no paragraphs
    assert render.markdown_escape("~~a~~ $x^2$ &lt; &#60; A & B&C") == r"\~\~a\~\~ \$x^2\$ \&lt; \&#60; A & B&C"


def test_tex_has_no_letter_that_pdflatex_does_not_know():
    """Look at the texts of all papers and tasks, from which tables are made, and at the words of the package."""
    texts = [
        path.read_text() for path in (ROOT / "workflow/papers").glob("*/*.yaml") if path.stem not in ("audit", "claims")
    ]
    texts += [read_yaml(path)["title"] for path in (ROOT / "workflow/tasks").glob("*.yaml")]
    texts += [path.read_text() for path in (ROOT / "workflow/retort/tables").rglob("*.py") if path.stem != "render"]
    letters = set("".join(texts))
    assert letters >= set("₄₆ρτβϵ⋆≥±")
    known = {chr(number) for number in range(0xC0, 0x100)} | set("†‡§¶¿")
    assert {letter for letter in render.tex_escape("".join(sorted(letters))) if not letter.isascii()} <= known
    assert render.tex_escape("TinyBERT₆ ρ≥⋆ Δx²") == r"TinyBERT$_6$ $\rho$$\geq$$\star$ $\Delta$x$^2$"


@pytest.mark.parametrize("kind", ["html", "md", "tex"])
def test_every_format_prints_title_question_caption_scale_and_notes(kind: str):
    grid = Grid(["C"], [GridRow("R", [Entry("1.0", "2.0", "differs", True, ("a note",))])])
    sheet = Sheet("p", "table1", "pocket", "Title", "Question?", "Caption.", [grid], ["A remark."])
    text = render.rendered(sheet, kind)
    for part in ("Title", "Question?", "Caption.", "pocket", "a note", "A remark.", "1.0", "2.0", "differs"):
        assert part in text


def test_a_sample_is_named_under_the_table(config: dict[str, Any]):
    study = write_results(config)
    change_score(Path("results/scores/tiny-kd/mood/1-2-3.json"), sample={"train": [8000, 104743]})
    spec, lines = collected(study, "table1", read_scores(study, paths()[0]))
    sheet, told = spec.lay_out(lines), "measured on a sample: train 8,000 of 104,743 rows"
    assert list(lines.loc[lines["note"] == told, "student"]) == ["tiny-kd"]
    assert sheet.letters[told] == "a"
    marks = {row.label: sheet.mark(row.entries[0]) for row in sheet.grids[0].rows}
    assert (marks["A & <b>_1"], marks["B"]) == ("a", "")
