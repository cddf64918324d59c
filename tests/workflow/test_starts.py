"""Students that start truncated, from a published model or from a student, with narrow embeddings, or as RoBERTa."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import read_json, snakemake
from tests.tiny.edit import write
from tests.tiny.make import make_family, make_study

pytestmark = pytest.mark.workflow

SHAPE = {"layers": 2, "heads": 3, "hidden": 21, "intermediate": 50}
SMALL = {"layers": 1, "heads": 3, "hidden": 21, "intermediate": 50}
NARROW = {**SMALL, "embedding": 8}
ON_TASK = [{"data": "task", "terms": [{"objective": "attention-kl", "mapping": "last"}, {"objective": "soft-labels"}]}]
ON_CORPUS = [{"data": "sentences", "terms": [{"objective": "soft-labels"}]}]
STUDENTS: dict[str, dict[str, Any]] = {
    "truncated": {"initialisation": {"truncated": True}, "architecture": SMALL, "stages": ON_TASK},
    "published": {"initialisation": {"checkpoint": "small"}, "architecture": SHAPE, "stages": ON_TASK},
    "plain": {"initialisation": {"checkpoint": "small"}, "architecture": SHAPE},
    "small": {"initialisation": {"truncated": True}, "architecture": SMALL, "stages": ON_TASK},
    "narrow": {"initialisation": {"random": True}, "architecture": NARROW, "stages": ON_CORPUS},
    "grown": {"initialisation": {"student": "starts-narrow"}, "architecture": NARROW, "stages": ON_TASK},
}
STUDENTS["truncated"]["teacher"] = "starts-roberta"
STUDENTS["small"]["teacher"] = "starts-borrower"  # whose tokenizer is that of the model 'big'
SCORED = ("truncated", "published", "plain", "small", "grown")


def write_paper(study_folder: Path) -> None:
    """Write a paper with the students, a table of their scores and one of their cost."""
    teachers = {
        name: {"title": name, "model": model, "protocol": "short"}
        for name, model in (("teacher", "big"), ("borrower", "small"), ("roberta", "other"))
    }
    common = {"title": "A student", "teacher": "starts-teacher", "protocol": "once"}
    rows = [{"student": f"starts-{name}", "label": name} for name in SCORED]
    column = {"task": "mood", "metric": "accuracy", "label": "Mood"}
    table = {"title": "A table", "question": "Does it run?"}
    about = {"title": "Starts", "reference": "Made up for the tests", "ours": True, "show": ["table1", "table2"]}
    schedule = {"steps": 3, "batch_size": 8, "learning_rate": 1e-3}
    write(study_folder, "protocols/once.yaml", {"title": "Once", "schedule": schedule, "seeds": [1]})
    paper = study_folder / "papers/starts"
    write(paper, "paper.yaml", {**about, "teachers": teachers})
    write(paper, "students.yaml", {name: {**common, **student} for name, student in STUDENTS.items()})
    write(paper, "table1.yaml", {**table, "kind": "scores", "rows": rows, "columns": [column]})
    narrow = {"student": "starts-narrow", "label": "Narrow embeddings"}
    write(paper, "table2.yaml", {**table, "kind": "profiles", "rows": [narrow]})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the students have been trained and scored."""
    home = make_study(tmp_path_factory.mktemp("starts"), papers=["starts"])
    study_folder = home / "study"
    models = {"big": ("bert", 4, 90), "small": ("bert", 2, 90), "other": ("roberta", 4, 300)}
    for name, (family, layers, vocabulary) in models.items():
        make_family(home / name, family, num_hidden_layers=layers)
        write(study_folder, f"sources/{name}.yaml", {"title": name, "path": name})
        model = {"title": name, "source": name, "vocabulary": vocabulary, "positions": 32}
        model |= {"architecture": {**SHAPE, "layers": layers}}
        write(study_folder, f"models/{name}.yaml", {**model, **({"tokenizer": "big"} if name == "small" else {})})
    (home / "small/tokenizer.json").unlink()  # as published models that name another's vocabulary
    write_paper(study_folder)
    snakemake(home)
    return home


def test_every_student_is_scored(home: Path) -> None:
    for name in SCORED:
        assert read_json(home / f"results/scores/starts-{name}/mood/seed-1.json")["status"] == "ok"


def test_a_model_without_a_tokenizer_has_the_one_that_it_names(home: Path) -> None:
    score = read_json(home / "results/scores/starts-small/mood/seed-1.json")
    assert score["settings"]["teacher"]["model"]["tokenizer"]["local"] == "big"
    assert sorted(path.name for path in (home / "results/encoded/mood").iterdir()) == ["big", "other"]
    saved = home / "results/teachers/starts-borrower/mood/model/tokenizer.json"
    assert saved.read_bytes() == (home / "big/tokenizer.json").read_bytes()


def test_narrow_students_are_found_by_transformers(home: Path) -> None:
    from transformers import AutoModel

    model, info = AutoModel.from_pretrained(home / "results/students/starts-narrow/model", output_loading_info=True)
    assert (model.config.embedding_size, model.config.hidden_size) == (8, 21)
    assert not info["missing_keys"]
    profile = read_json(home / "results/profiles/starts-narrow.json")
    assert profile["parameters"] == sum(weight.numel() for weight in model.parameters())
    assert profile["without_embeddings"] == sum(weight.numel() for weight in model.encoder.parameters())


def test_a_student_without_stages_is_the_published_model(home: Path) -> None:
    import torch
    from transformers import AutoModel

    mine, theirs = (AutoModel.from_pretrained(home / f) for f in ("results/students/starts-plain/model", "small"))
    assert all(torch.equal(weight, theirs.state_dict()[name]) for name, weight in mine.state_dict().items())
