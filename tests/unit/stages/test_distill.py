"""Tests of distillation on a corpus: the live teacher, and the number of steps."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.batch import Batch
from retort.engine.attempts import NEVER, Clock, Interrupted
from retort.engine.job import Job
from retort.errors import Diverged, RetortError
from retort.models import build, weights
from retort.models.initialise import StartFolders
from retort.objectives.compose import WeightedSum
from retort.plan import resolve, resolve_data
from retort.settings.trainings import CorpusDistillationSettings
from retort.specs.config import Config
from retort.stages.distill import distill_students
from retort.study.load import open_study
from retort.training.distillation import online
from retort.training.setup import LOGITS

from tests.corpora import build_blocks
from tests.job_settings import schedule
from tests.tiny.edit import set_value
from tests.tiny.make import STUDY
from tests.unit.training.runs import short_after

HIDDEN = ("hidden", 2)


def batch() -> Batch:
    input_ids = torch.arange(5, 17).reshape(3, 4)
    return Batch(input_ids, torch.zeros_like(input_ids), torch.ones_like(input_ids, dtype=torch.bool))


@pytest.mark.parametrize("dropout", [False, True])
def test_a_teacher_is_a_fixed_function_unless_it_keeps_its_dropout(encoder: Path, dropout: bool) -> None:
    teach = online(encoder, "none", 1, "cpu")({HIDDEN}, dropout)
    assert torch.equal(teach(batch())[HIDDEN], teach(batch())[HIDDEN]) is not dropout


def test_a_teacher_is_read_through_a_relu_where_its_student_is(encoder: Path) -> None:
    logits = []
    for relu in (False, False, True):
        torch.manual_seed(0)  # for the classifier, which the folder does not hold
        logits.append(online(encoder, "classification", 2, "cpu", relu)({LOGITS}, False)(batch())[LOGITS])
    assert torch.equal(logits[0], logits[1])
    assert not torch.allclose(logits[1], logits[2])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, texts: Path, encoder: Path) -> Path:
    """Build the tiny study's corpus and return its folder."""
    home = tmp_path_factory.mktemp("corpus")
    study = open_study(Config(papers=["tiny"], study=str(STUDY)))
    build_blocks(home, texts, encoder, resolve_data.corpus(study, "sentences"))
    return home / "to"


def resolved(study_folder: Path, **stage: Any) -> CorpusDistillationSettings:
    """Return the settings of the student of output distributions; its teacher is published with a masked-LM head."""
    set_value(study_folder, "models/encoder.yaml", "masked_lm", to=True)
    study = open_study(Config(papers=["tiny"], study=str(study_folder)))
    found = resolve.corpus_distillation(study, "tiny-predicting")
    return found.model_copy(
        update={
            "parent": None,
            "initialisation": found.initialisation.model_copy(update={"student": None, "random": True}),
            "stages": [found.stages[0].model_copy(update=stage)],
            "precision": "float32",
        }
    )


def distilled(
    settings: CorpusDistillationSettings, teacher: Path, corpus: Path, to: Path, workers: int | None = None,
    clock: Clock = NEVER,
) -> str:  # fmt: skip
    """Distil on the corpus and return the log."""
    job = Job("job", io.StringIO(), dataloader_num_workers=workers, clock=clock)
    folders = StartFolders(teacher=str(teacher), model=str(teacher), tokenizer=str(teacher), parent=None)
    distill_students(job, {"tiny": settings}, [str(corpus)], folders, {"tiny": str(to)})
    assert isinstance(job.log, io.StringIO)
    return job.log.getvalue()


@pytest.fixture
def published(tmp_path: Path, encoder: Path) -> Path:
    """Return the folder of the encoder with a masked-LM head, as after pre-training."""
    folder = tmp_path / "published"
    shutil.copytree(encoder, folder)
    build.load(encoder, "masked-lm").save_pretrained(folder)
    return folder


# time that is short in the last step of a stage ends the job after the first step of the next stage
@pytest.mark.parametrize(("questions", "stage", "step"), [(2, 1, 2), (3, 2, 1)])
def test_a_job_whose_time_is_short_in_a_stage_goes_on_in_it(
    study_folder: Path, corpus: Path, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: int,
    stage: int, step: int,
) -> None:  # fmt: skip
    taken = [0]

    def counted(self: WeightedSum, *arguments: Any, whole: Any = WeightedSum.forward) -> Any:
        taken[0] += 1
        return whole(self, *arguments)

    monkeypatch.chdir(tmp_path)
    settings = resolved(study_folder, schedule=schedule(steps=3, batch_size=8, learning_rate=0.001))
    settings = settings.model_copy(update={"stages": settings.stages * 2})
    distilled(settings, published, corpus, tmp_path / "whole")
    monkeypatch.setattr(WeightedSum, "forward", counted)
    with pytest.raises(Interrupted, match=f"after step {step}"):
        distilled(settings, published, corpus, tmp_path / "cut", clock=short_after(questions))
    said = distilled(settings, published, corpus, tmp_path / "cut")
    assert f"stage {stage} of 2, 3 steps, resumed at step {step}\n" in said
    assert taken[0] == 6
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut")]
    assert weights[0] == weights[1]


def test_a_student_that_diverges_is_a_result_and_so_is_what_starts_from_it(
    study_folder: Path, corpus: Path, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverge(*_: Any) -> None:
        raise Diverged(7)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("retort.stages.distill.run_stages", diverge)
    said = distilled(resolved(study_folder, schedule=schedule()), published, corpus, tmp_path / "to")
    assert "diverged at step 7, and so does all that starts from it" in said
    assert all(weight.isfinite().all() for weight in build.load(tmp_path / "to").parameters())
    with pytest.raises(Diverged) as caught:
        weights.check_not_diverged(None, tmp_path / "to")
    assert caught.value.step == 7


def test_a_head_that_the_study_promises_must_be_there(
    study_folder: Path, corpus: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RetortError, match="has no masked-LM head; leave 'masked_lm' out of the model's file"):
        distilled(resolved(study_folder), encoder, corpus, tmp_path / "to")
