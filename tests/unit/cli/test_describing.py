"""Tests of `retort describe`: students of a family share a description where they differ in one place."""

from __future__ import annotations

import pytest
from retort.cli import main
from retort.cli.describing import grouped, shared


@pytest.mark.parametrize(
    ("texts", "one"),
    [
        (["layer 1 of 12", "layer 2 of 12"], "layer {1 | 2} of 12"),
        (["6 layers; seed 1", "6 layers; seed 2"], "6 layers; seed {1 | 2}"),
        (["a (layer 1, mean); b", "a (layer 2, mean); b"], "a (layer {1 | 2}, mean); b"),
        (["a (layer 1); b", "a (layer 2); b"], "a (layer {1 | 2}); b"),
        (["x (layer 1); b", "x (layers 1, 2); b"], "x {(layer 1) | (layers 1, 2)}; b"),
        (["x (all: layer 1); b", "x y (layer 1); b"], "x {(all: layer 1) | y (layer 1)}; b"),
        (["6 layers; seed 1", "3 layers; seed 2"], None),
        (["6 layers. 40 steps, rate 2", "3 layers. 20 steps, rate 2"], None),
        (["1 2 3 4 5 6 7 8 9 x", "9 8 7 6 5 4 3 2 1 x"], None),
    ],
)
def test_texts_that_differ_in_one_place_are_one(texts: list[str], one: str | None) -> None:
    assert shared(texts) == one


def test_students_that_share_a_description() -> None:
    family = {"kd-1-mono": "A (layer 1). Z.", "kd-2-mono": "A (layer 2). Z.", "hs-2-mono": "B, C; D (layer 2). Y."}
    assert list(grouped(family)) == [
        ("kd-{1 | 2}-mono", "A (layer {1 | 2}). Z."),
        ("hs-2-mono", "B, C; D (layer 2). Y."),
    ]


def test_a_paper_is_described_with_its_teachers_and_protocols(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "mlkd2024", "pkd-4", "mlkd2024-pkd-6"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("pkd-4: 4 layers of width 768, 12 heads; layers 1 to 4 of bert-base-uncased;")
    assert "\nTeacher bert-base: bert-base-uncased; where it is fine-tuned, protocol mlkd2024-teacher" in said
    assert "\nProtocol mlkd2024-baselines: 4 epochs, batch 32, rate 2e-5;" in said
    assert max(map(len, said.splitlines())) <= 110


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["mlkd"], "no paper is called 'mlkd'; did you mean 'mlkd2024'?"),
        (["mlkd2024", "tinybert-44"], "no student is called 'tinybert-44'; did you mean 'tinybert-4'?"),
    ],
)
def test_a_wrong_name_is_told(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", *arguments]) == 2
    assert line in capsys.readouterr().err
