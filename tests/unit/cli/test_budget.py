"""Tests of `retort budget`: its first choice, what it leaves out, and its second look at real scores."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.cli import budgeting, main
from retort.cli.base import config_of
from retort.cli.budgeting import draw_curves
from retort.study.reasons import IN_BUDGET

from tests.tiny.edit import write
from tests.tiny.results import made
from tests.tiny.variant import CLAIMS, STUDENTS, TABLE, write_study

MOOD, RATING = CLAIMS["a-beats-b"], "Pearson"
# a second claim, of the abstract, on the other task
TWO = {
    "on-mood": MOOD,
    "on-rating": {
        **MOOD,
        "where": "abstract",
        **{side: [{**MOOD[side][0], "columns": [RATING]}] for side in ("cells", "than")},
    },
}
REPORTED = {
    "tiny-kd": {"Acc. %": [70.0, 1.0], RATING: [50.0, 1.0]},
    "tiny-attention": {"Acc. %": [67.0, 1.0], RATING: [40.0, 1.0]},
}
ENOUGH = 100.0  # hours


@pytest.fixture
def study(here: Path) -> dict[str, Any]:
    """Return the configuration of a study with a claim on each task: on moods it takes more seeds than on ratings."""
    return write_study(here / "study", table1={**TABLE, "means": REPORTED}, claims=TWO)


def ask(config: dict[str, Any], hours: float, *options: str) -> dict[str, Any]:
    """Ask for a budget with a configuration, and return the one that is written."""
    Path("config.yaml").write_text(json.dumps(config))
    assert main(["budget", str(hours), "--config", "config.yaml", *options]) == 0
    written: dict[str, Any] = yaml.safe_load(Path("budget.yaml").read_text())
    return written


def prices(config: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """Return claim -> what `retort cost --claims` says of it: seeds, hours, ..."""
    Path("config.yaml").write_text(json.dumps(config))
    assert main(["cost", "--claims", "--config", "config.yaml"]) == 0
    return {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if "/" in line}


def for_one(config: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> float:
    """Return hours that each of the two claims fits, and both together do not."""
    return 1.3 * float(prices(config, capsys)["tiny/on-mood"][1])


def seeds_of(written: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return student -> task -> seeds of a budget that is written."""
    runs = written["budget"]["runs"]
    return {name: dict.fromkeys(run["tasks"], run["seeds"]) for name, run in runs.items() if name != "tiny-teacher"}


def counted(said: str) -> dict[str, str]:
    """Return the total of claims, by what becomes of them, as it is reported."""
    lines = [re.split(r"  +", line) for line in said.splitlines()]
    return dict(zip(lines[0][1:], next(line for line in lines if line[0] == "total")[1:], strict=True))


def test_the_first_look_is_at_two_seeds_of_what_fits(study: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    both = dict.fromkeys(("mood", "rating"), 2)
    assert seeds_of(ask(study, ENOUGH)) == {"tiny-attention": both, "tiny-kd": both}
    said = capsys.readouterr().out
    assert counted(said)["in the budget"] == "2"
    assert "It holds the first 2 seeds" in said
    assert ask(study, 0.001)["budget"]["runs"] == {}
    assert counted(capsys.readouterr().out)["not in the budget"] == "2"


def test_what_is_written_is_read_as_it_was_asked_with_other_keys_in_config_yaml(study: dict[str, Any]) -> None:
    Path("config.yaml").write_text(json.dumps({**study, "students_together": 8, "keep_weights": True}))
    Path("mine.yaml").write_text("students_together: 4\nkeep_weights: false\ncheckpoint_seconds: 9\n")
    assert main(["budget", "1", "--config", "mine.yaml"]) == 0
    asked, written = (config_of(argparse.Namespace(config=name)) for name in ("mine.yaml", "budget.yaml"))
    assert {**written.model_dump(), "budget": None} == asked.model_dump()
    assert yaml.safe_load(Path("budget.yaml").read_text()).keys() == {
        *study, "students_together", "keep_weights", "checkpoint_seconds", "budget",
    }  # fmt: skip


@pytest.mark.parametrize(("weight", "task"), [("tiny=3", "rating"), ("abstract=0.1", "mood")])
def test_a_weight_decides_which_claim_fits(
    study: dict[str, Any], weight: str, task: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = {task: 2}
    assert seeds_of(ask(study, for_one(study, capsys), "--weight", weight)) == {"tiny-attention": one, "tiny-kd": one}


def test_what_is_left_out_says_so_with_its_price(study: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    written = ask(study, for_one(study, capsys))
    lines, texts = made(written)
    left = {(line.student, line.task) for line in lines if line.reason.startswith(IN_BUDGET)}
    assert {("tiny-kd", "mood"), ("tiny-attention", "mood")} <= left
    assert not any(task == "rating" for _, task in left)
    hours = written["budget"]["left_out"]["tiny-kd"]
    assert hours > 0
    assert f"not run in this budget: tiny-kd takes {hours:.3g} hours more" in " ".join(texts["md"].lower().split())


@pytest.mark.parametrize(
    ("kd", "attention", "becomes", "seeds"),
    [
        ([0.70, 0.71], [0.50, 0.51], "decided", 2),
        ([0.70, 0.75], [0.65, 0.66], "in the budget", 6),
        ([0.70, 0.75], [0.69, 0.79], "out of reach", 2),
    ],
)
def test_the_second_look_spends_what_is_left_where_claims_are_open(
    study: dict[str, Any],
    kd: list[float],
    attention: list[float],
    becomes: str,
    seeds: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(Path("study"), "papers/tiny/claims.yaml", CLAIMS)
    first = ask(study, ENOUGH)
    assert seeds_of(first)["tiny-kd"] == {"mood": 2}
    made(first, **{"tiny-kd": {"mood": kd}, "tiny-attention": {"mood": attention}})
    capsys.readouterr()
    second = ask(first, ENOUGH)
    said = capsys.readouterr().out
    assert counted(said)[becomes] == "1"
    assert seeds_of(second)["tiny-kd"] == {"mood": seeds}
    if becomes == "in the budget":  # and after these seeds
        made(second, **{"tiny-kd": {"mood": 3 * kd}, "tiny-attention": {"mood": 3 * attention}})
        ask(second, ENOUGH)
        assert counted(capsys.readouterr().out)["decided"] == "1"


def test_seeds_of_rows_that_a_claim_does_not_name_change_nothing(study: dict[str, Any]) -> None:
    third = {"student": "tiny-third", "label": "C"}
    write(Path("study"), "papers/tiny/claims.yaml", CLAIMS)
    write(Path("study"), "papers/tiny/students.yaml", {**STUDENTS, "third": STUDENTS["kd"]})
    write(Path("study"), "papers/tiny/table1.yaml", {**TABLE, "rows": [*TABLE["rows"], third], "means": REPORTED})
    runs = ask(study, ENOUGH)["budget"]["runs"] | {"tiny-third": {"tasks": ["mood"], "seeds": 10}}
    scores = {"tiny-kd": [0.70, 0.75], "tiny-attention": [0.65, 0.66], "tiny-third": 5 * [0.60, 0.62]}
    first = {**study, "budget": {"hours": ENOUGH, "runs": runs}}
    made(first, **{name: {"mood": values} for name, values in scores.items()})
    assert seeds_of(ask(first, ENOUGH))["tiny-kd"] == {"mood": 6}


def test_claims_have_prices(study: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    rows = prices(study, capsys)
    assert (rows["tiny/on-mood"][0], rows["tiny/on-rating"][0]) == ("6", "3")
    assert 0 < float(rows["tiny/on-rating"][1]) < float(rows["tiny/on-mood"][1])


def test_curves_are_drawn_for_each_paper_and_for_all(study: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("config.yaml").write_text(json.dumps(study))
    drawn: list[Any] = []
    monkeypatch.setattr(budgeting, "draw_curves", lambda *call: (drawn.append(call[0]), draw_curves(*call)))
    assert main(["budget", "--curves", "--config", "config.yaml"]) == 0
    for folder in ("study/papers", "study/papers/tiny"):
        assert Path(folder, "budget.svg").is_file()
    assert [count for _, count in drawn[0]["tiny"]] == [0, 1, 2]
    assert main(["budget", "--curves", "tiny", "--config", "config.yaml"]) == 0
    assert drawn == [drawn[0]] * 3  # the picture of all papers stays as it was
    assert main(["budget", "--curves", "tyni", "--config", "config.yaml"]) == 2


def test_every_paper_has_a_curve_with_a_look_of_its_own(tmp_path: Path) -> None:
    draw_curves({f"paper{n}": [[0, n], [9, n + 1]] for n in range(6)}, {"svg": str(tmp_path / "a.svg")})
    text = (tmp_path / "a.svg").read_text()
    assert re.findall(r">(paper\d)<", text) == [f"paper{n}" for n in range(6)]
    looks = re.findall(r'style="(fill: none; [^"]*stroke: #[^"]*stroke-width: 1.8[^"]*)"', text)
    assert len(looks) == len(set(looks)) == 6


def test_without_claims_there_are_no_curves(study: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    Path("study/papers/tiny/claims.yaml").unlink()
    Path("config.yaml").write_text(json.dumps(study))
    assert main(["budget", "--curves", "--config", "config.yaml"]) == 2
    assert "--curves: no paper that is named has a claim; name one" in capsys.readouterr().err


@pytest.mark.parametrize("call", ["1e999", "nan", "0", "5 --flops inf", "ten"])
def test_hours_and_flops_are_numbers(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["budget", *call.split()])
    assert capsys.readouterr().err.endswith(f": {call.split()[-1]} is no number above 0\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "no hours are given"),
        (["5", "--weight", "tinny=2"], "no paper is called 'tinny'; did you mean 'tiny'?"),
        (["5", "--weight", "tiny=0"], "no number above 0"),
    ],
)
def test_a_wrong_call_is_told(
    study: dict[str, Any], arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("config.yaml").write_text(json.dumps(study))
    assert main(["budget", *arguments, "--config", "config.yaml"]) == 2
    assert line in capsys.readouterr().err
