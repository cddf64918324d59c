"""Tests of the card of a saved model: what a model hub reads of it, and that its command loads the model."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import transformers
from huggingface_hub import ModelCard
from retort.checksums import Maker
from retort.errors import Diverged
from retort.job.context import this_code
from retort.models import build, weights
from retort.models.card import About
from retort.settings.inputs import JobSettings
from retort.specs.config import Config
from retort.specs.model import Architecture
from retort.study.load import open_study
from retort.study.questions import licences_of
from retort.training.evaluate import Measured, ScoreToWrite

from tests.job_settings import distillation_settings, task_settings
from tests.tiny.make import make_encoder
from tests.tiny.results import quiet

MIT, APACHE = {"A teacher": "MIT", "Some data": "MIT"}, {"A teacher": "Apache-2.0", "Some data": "MIT"}


class Made(JobSettings):
    """Settings of a model on a task, with what it is made from."""

    task: Any
    teacher: Any
    tokenizer: Any = None


def source(name: str, kind: str) -> dict[str, Any]:
    """Return the settings of a source on the hub."""
    hub = {"repository": name, "repo_type": kind, "commit": "a" * 40, "files": ["*"]}
    return {"source": {"hub": hub}}


def saved(folder: Path, about: About, **data: Any) -> Any:
    """Save a classifier with a card, and return the card as the library of the hub reads it."""
    make_encoder(folder)
    task, others = task_settings(labels=["bad", "good"], **data), source("own/other", "model")
    settings = Made(task=task, teacher=[source("own/bert", "model")] * 2, tokenizer=others)
    weights.save_with_card(quiet(), settings, build.load(folder, "classification", 2), folder, folder / "to", about)
    return ModelCard.load(folder / "to/README.md")


def test_a_hub_reads_bases_data_and_the_score_of_the_seed(tmp_path: Path) -> None:
    measured = Measured("test", {"accuracy": np.float64(0.74), "matthews": math.nan}, {}, {}, [])
    about = ScoreToWrite("kd", "moods", 12, "", "").about(measured, MIT)
    card = saved(tmp_path, about, **source("own/moods", "dataset"))
    header = card.data.to_dict()
    (one,) = card.data.eval_results
    assert (header["base_model"], header["datasets"], header["license"]) == (["own/bert"], ["own/moods"], "mit")
    assert (one.dataset_name, one.dataset_type, one.dataset_split) == ("moods", "own/moods", "test")
    assert (one.metric_type, one.metric_value, one.metric_args) == ("accuracy", 0.74, {"seed": 12})
    assert card.data.model_name == "kd on moods, seed 12"
    assert one.task_type == header["pipeline_tag"] == "text-classification"
    assert "is that of seed 12 alone" in card.text
    assert "\n- A teacher: MIT\n- Some data: MIT\n" in card.text


@pytest.mark.parametrize("licences", [{}, APACHE, {"A teacher": "none stated"}], ids=str)
def test_what_is_not_known_is_not_invented(licences: dict[str, str], tmp_path: Path) -> None:
    about = ScoreToWrite("kd", "moods", 12, "", "").about(Diverged(3), licences)
    card = saved(tmp_path, about)
    assert set(card.data.to_dict()) == {"library_name", "tags", "pipeline_tag", "base_model"}
    assert "seed 12 alone" not in card.text
    assert all(f"- {title}: {licence}" in card.text for title, licence in licences.items())


def test_licences_are_those_that_sources_name() -> None:
    study = open_study(Config(papers=["pocket"]))
    teacher, data = (study.sources[name] for name in ("all-minilm-l6", "vader"))
    licences = licences_of(study)
    assert licences.of("pocket-kd", "tweets") == {teacher.title: "Apache-2.0", data.title: "MIT"}
    assert licences.of("pocket-teacher", "tweets") == licences.of("pocket-kd", "tweets")
    assert licences.of("pocket-kd") == {teacher.title: "Apache-2.0"}


def test_a_card_says_that_a_model_is_mixed(tmp_path: Path) -> None:
    """It names the other code that has made a part of it."""
    make_encoder(tmp_path)
    settings = distillation_settings(Architecture(layers=2, heads=2, hidden=12, intermediate=20))
    cards = []
    for ancestors, resumed_from in ((), ()), ({Maker(commit="b", code="11")}, {Maker(commit="a", code="10")}):
        job = quiet()
        job.ancestors, job.resumed_from = {this_code(), *ancestors}, {this_code(), *resumed_from}
        weights.save_with_card(job, settings, build.load(tmp_path), tmp_path, tmp_path / "saved", About("A student"))
        cards.append((tmp_path / "saved" / "README.md").read_text())
    plain, mixed = cards
    assert "Mixed" not in plain
    said = "other code has made a part of it, or of what it was made from: commit a (code 10); commit b (code 11)."
    assert mixed.replace(f"\n**Mixed results**: {said}\n", "", 1) == plain


PIPED: list[tuple[str, list[str], str, set[str]]] = [
    ("classification", ["bad", "good"], "SequenceClassification", {"bad", "good"}),
    ("regression", [], "SequenceClassification", {"LABEL_0"}),
    ("span", [], "QuestionAnswering", set()),  # transformers 5 has no pipeline for it
]


@pytest.mark.parametrize(("task_type", "names", "auto", "printed"), PIPED)
def test_a_saved_student_answers_in_a_pipeline(
    task_type: str, names: list[str], auto: str, printed: set[str], tmp_path: Path
) -> None:
    """Whoever takes it home loads it by the card's command, may read its files, and gets the names of the labels."""
    make_encoder(tmp_path)
    settings: Any = SimpleNamespace(task=task_settings(task_type=task_type, labels=names), as_json=dict)
    head, home = ("span" if task_type == "span" else "classification"), tmp_path / "home"
    student = build.load(tmp_path, head, 1 if task_type == "regression" else 2)
    weights.save_with_card(quiet(), settings, student, tmp_path, home, About("T"))
    card = (home / "README.md").read_text()
    assert f"`transformers.AutoModelFor{auto}.from_pretrained(folder)`" in card
    model = getattr(transformers, f"AutoModelFor{auto}").from_pretrained(home)
    if printed:
        tokenizer = transformers.AutoTokenizer.from_pretrained(home)
        kind = card.partition("pipeline_tag: ")[2].partition("\n")[0]
        answers: Any = transformers.pipeline(kind, model=model, tokenizer=tokenizer, device="cpu")
        assert {each["label"] for each in answers("it is red", top_k=None)} == printed
    assert len({path.stat().st_mode for path in home.iterdir()}) == 1
