"""Tests of students that are distilled side by side: the same files as alone, without a step of their own jobs."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.errors import RetortError
from retort.jobs import Job
from retort.locks import locked
from retort.models.initialise import StartFolders
from retort.models.recorder import Recorder
from retort.settings import CorpusDistillationSettings
from retort.signals import Interrupted, kept_for_next_training
from retort.specs.model import Architecture
from retort.stages.distill import corpus_student, distill_student
from retort.stages.together import distill_together
from retort.training.distillation import Student

from tests.job_settings import schedule
from tests.unit.stages.test_distill import corpus, published, resolved

__all__ = ["corpus", "published"]  # fixtures


@pytest.fixture
def students(study_folder: Path) -> dict[str, CorpusDistillationSettings]:
    """Return settings of students that read other layers, take other numbers of steps and have other sizes."""
    logits = resolved(study_folder, schedule=schedule(steps=8, batch_size=8))
    term = logits.stages[0].terms[0]
    hidden = term.model_copy(update={
        "objective": "hidden-sequence", "pairs": [(1, 4)],
        "options": {"count_padding": False, "map": "widths-differ"},
    })  # fmt: skip
    relations = term.model_copy(update={"objective": "value-relation", "pairs": [(2, 2)], "options": {}})

    def stage(steps: int, terms: list[Any], rate: float) -> list[Any]:
        rates = schedule(steps=steps, batch_size=8, learning_rate=rate)
        return [logits.stages[0].model_copy(update={"terms": terms, "schedule": rates})]

    wide = Architecture(layers=2, heads=3, hidden=24, intermediate=48)
    return {
        "logits": logits,
        "hidden": logits.model_copy(update={"stages": stage(5, [hidden], 0.02)}),
        "relations": logits.model_copy(update={"stages": stage(3, [relations, term], 0.01), "architecture": wide}),
    }


def job(name: str) -> Job:
    return Job(f"distill_student({name})", io.StringIO(), slug=f"distill_student.{name}")


def together(students: dict[str, CorpusDistillationSettings], teacher: Path, corpus: Path, gpus: int = 0) -> str:
    """Distil students side by side and return the log."""
    running = Job("distill_together", io.StringIO(), gpu=gpus > 0, gpus=gpus, slug="distill_together.all")
    each = StartFolders(teacher=str(teacher), model=str(teacher), tokenizer=str(teacher), parent=None)
    distill_together(running, students, {"sentences": str(corpus)}, dict.fromkeys(students, each))
    assert isinstance(running.log, io.StringIO)
    return running.log.getvalue()


def made(name: str, settings: CorpusDistillationSettings, teacher: Path, corpus: Path, to: Path) -> tuple[bytes, str]:
    """Distil a student in its own job; return its weights and the log."""
    own, each = job(name), StartFolders(str(teacher), str(teacher), str(teacher), None)
    distill_student(own, settings, name, {"sentences": str(corpus)}, each, str(to / name))
    shutil.rmtree(own.checkpoints, ignore_errors=True)  # as a job does at its end
    assert isinstance(own.log, io.StringIO)
    return (to / name / "model.safetensors").read_bytes(), own.log.getvalue()


def test_the_files_are_those_of_students_alone(
    students: dict[str, CorpusDistillationSettings], published: Path, corpus: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    alone = {name: made(name, own, published, corpus, tmp_path / "alone")[0] for name, own in students.items()}
    passes = counted_passes(monkeypatch, layers=4)
    assert "done: 3 students" in together(students, published, corpus)
    assert passes == [8]  # one for each batch of the longest training
    for name, own in students.items():
        weights, log = made(name, own, published, corpus, tmp_path / "beside")
        assert weights == alone[name]
        assert f"resumed at step {own.stages[0].schedule.steps}" in log
    assert passes == [8]
    assert not list((tmp_path / "results/checkpoints").iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("forked_processes")
def test_the_files_are_those_of_students_alone_in_micro_batches_on_two_processes(
    students: dict[str, CorpusDistillationSettings], published: Path, corpus: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    del students["logits"]
    each, corpora = StartFolders(str(published), str(published), str(published), None), {"sentences": str(corpus)}

    def divided(own: Job) -> Job:
        """Return a job that divides its batches of 8 rows among two processes, and theirs into parts of 2."""
        return replace(own, log=(tmp_path / "log").open("a"), threads=2, gpus=2, micro_batch=3)

    for name, own in students.items():
        distill_student(divided(job(name)), own, name, corpora, each, str(tmp_path / "alone" / name))
    beside = divided(Job("distill_together", io.StringIO(), slug="distill_together.all"))
    distill_together(beside, students, corpora, dict.fromkeys(students, each))
    for name, own in students.items():
        weights, log = made(name, own, published, corpus, tmp_path / "beside")  # which takes no step
        assert f"resumed at step {own.stages[0].schedule.steps}" in log
        assert weights == (tmp_path / "alone" / name / "model.safetensors").read_bytes()
        card = (tmp_path / "beside" / name / "README.md").read_text()
        assert '"micro_batch": 3,\n  "gpus": 2\n' in card  # how its steps were taken
        assert card == (tmp_path / "alone" / name / "README.md").read_text()


def counted_passes(monkeypatch: pytest.MonkeyPatch, layers: int) -> list[int]:
    """Return a list with the number of passes, from now on, of models with so many layers: the teacher."""
    passes, run = [0], Recorder.__call__

    def counted(self: Recorder, batch: Any) -> Any:
        passes[0] += self.model.config.num_hidden_layers == layers
        return run(self, batch)

    monkeypatch.setattr(Recorder, "__call__", counted)
    return passes


def test_a_student_that_diverges_does_so_in_its_own_job_at_the_same_step_and_without_training(
    students: dict[str, CorpusDistillationSettings], published: Path, corpus: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    stage = students["hidden"].stages[0]
    wild = stage.model_copy(update={"terms": [stage.terms[0].model_copy(update={"weight": 1e38})]})
    students["hidden"] = students["hidden"].model_copy(update={"stages": [wild]})
    assert "diverged at step 1, " in made("hidden", students["hidden"], published, corpus, tmp_path / "alone")[1]
    alone = made("logits", students["logits"], published, corpus, tmp_path / "alone")[0]
    with kept_for_next_training():
        os.kill(os.getpid(), signal.SIGURG)
        with pytest.raises(Interrupted, match="after step 1"):
            together(students, published, corpus)
    notes = Path("results/checkpoints/distill_student.hidden/notes.jsonl").read_text()
    assert '"diverged": 1' in notes
    together(students, published, corpus)
    assert Path("results/checkpoints/distill_student.hidden/notes.jsonl").read_text() == notes  # not trained again
    monkeypatch.setattr("torch.Tensor.backward", lambda *_: pytest.fail("a step was taken"))
    assert "diverged at step 1, " in made("hidden", students["hidden"], published, corpus, tmp_path / "beside")[1]
    for folder in ("alone", "beside"):
        assert json.loads((tmp_path / folder / "hidden/diverged.json").read_text()) == {"step": 1}
    assert made("logits", students["logits"], published, corpus, tmp_path / "beside")[0] == alone


def test_a_student_at_which_another_process_is_at_work_is_left_to_it(
    students: dict[str, CorpusDistillationSettings], published: Path, corpus: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with locked(Path("results/.locks/distill_student.hidden"), "distill_student(hidden)"):
        log = together(students, published, corpus)
    assert "without hidden: distill_student(hidden) is already at work elsewhere" in log
    assert "done: 2 students" in log
    assert sorted(path.name for path in Path("results/checkpoints").iterdir()) == [
        "distill_student.logits", "distill_student.relations",
    ]  # fmt: skip
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize(("promised", "seen", "said"), [(1, 0, "a GPU, .* none"), (4, 2, "4 GPUs, .* 2")])
def test_a_job_with_fewer_gpus_than_promised_stops(
    promised: int, seen: int, said: str, students: dict[str, CorpusDistillationSettings], published: Path,
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: seen > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: seen)
    with pytest.raises(RetortError, match=f"the job was promised {said}"):
        together(students, published, corpus, promised)
    assert not Path("results/checkpoints").exists()


def test_students_that_cannot_begin_are_not_counted(
    students: dict[str, CorpusDistillationSettings], published: Path, corpus: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def begins(job: Job, settings: CorpusDistillationSettings, folders: StartFolders) -> Student:
        if settings is not students.get("hidden"):
            raise RetortError("no masked-LM head")
        return corpus_student(job, settings, folders)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("retort.stages.together.corpus_student", begins)
    log = together(students, published, corpus)
    assert "without logits: no masked-LM head" in log
    assert "done: 1 student " in log
    del students["hidden"]
    with pytest.raises(RetortError, match="no masked-LM head"):
        together(students, published, corpus)
