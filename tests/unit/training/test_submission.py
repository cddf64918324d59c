"""Tests of the zip that the GLUE server takes, and of the answers that it is made of."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort.errors import Diverged, RetortError
from retort.job.context import RunningJob
from retort.models import build, weights
from retort.plan import plan
from retort.plan.plan import Plan
from retort.plan.reads import InputFunctions
from retort.specs.config import Config
from retort.study.load import open_study
from retort.training.setup import head_of
from retort.training.stages.preprocess import encode_task
from retort.training.stages.submission import predict_test, weights_of_seed, write_submission

from tests.tiny.forms import write_sample
from tests.tiny.results import quiet

# the files that gluebenchmark.com requires, each with a valid prediction
SERVER = {
    "CoLA.tsv": "0", "SST-2.tsv": "1", "MRPC.tsv": "1", "STS-B.tsv": "3.250", "QQP.tsv": "0",
    "MNLI-m.tsv": "contradiction", "MNLI-mm.tsv": "entailment", "QNLI.tsv": "not_entailment", "RTE.tsv": "entailment",
    "WNLI.tsv": "1", "AX.tsv": "neutral",
}  # fmt: skip
ANSWERS: dict[str, dict[str, list[Any]]] = {
    "cola": {"test": [0, 1]}, "sst2": {"test": [1, 0]}, "mrpc": {"test": [1, 1]}, "stsb": {"test": [3.25, 7.5]},
    "qqp": {"test": [0, 0]}, "mnli": {"test-matched": [2, 0], "test-mismatched": [0, 1], "diagnostic": [1, 2]},
    "qnli": {"test": [1, 0]}, "rte": {"test": [0, 1]}, "wnli": {"test": [1, 1]},
}  # fmt: skip


def zipped(job: RunningJob, answers: dict[str, Any], folder: Path) -> dict[str, str]:
    """Make the zip from these answers, and return its files and their content."""
    paths = []
    for task, given in answers.items():
        paths.append(folder / f"{task}.json")
        paths[-1].write_text(json.dumps(given))
    write_submission(job, plan.submission(open_study(Config())), list(map(str, paths)), str(folder / "x" / "all.zip"))
    with zipfile.ZipFile(folder / "x" / "all.zip") as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_the_zip_is_what_the_server_asks_for(tmp_path: Path) -> None:
    files = zipped(quiet(), ANSWERS, tmp_path)
    assert sorted(files) == sorted(SERVER)
    for name, text in files.items():
        lines = text.splitlines()
        assert lines[0] == "index\tprediction"
        assert lines[1] == f"0\t{SERVER[name]}"
        assert [line.split("\t")[0] for line in lines[1:]] == ["0", "1"]
        assert text.endswith("\n")
    assert files["STS-B.tsv"].splitlines()[2] == "1\t5.000"  # the highest score is 5
    before = (tmp_path / "x" / "all.zip").read_bytes()
    zipped(quiet(), ANSWERS, tmp_path)
    assert (tmp_path / "x" / "all.zip").read_bytes() == before


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    job = quiet()
    assert list(zipped(job, {"rte": ANSWERS["rte"]}, tmp_path)) == ["RTE.tsv"]
    assert "1 files; the server also takes AX.tsv, CoLA.tsv," in job.log.getvalue()  # type: ignore[attr-defined]


def test_a_model_that_diverged_has_no_file_in_the_zip(tmp_path: Path) -> None:
    job, answers = quiet(), {"rte": ANSWERS["rte"], "cola": {"test": [0, None]}}
    assert list(zipped(job, answers, tmp_path)) == ["RTE.tsv"]
    said = job.log.getvalue()  # type: ignore[attr-defined]
    assert "1 files, without those of models that diverged: CoLA.tsv; the server also takes AX.tsv, MNLI-m.tsv," in said


def test_the_answers_on_test_rows_are_in_the_order_of_the_file(encoder: Path, tmp_path: Path) -> None:
    for folder in ("MNLI", "diagnostic"):
        (tmp_path / folder).mkdir()
    study = open_study(Config(sample=True, data_dir=str(tmp_path)))
    where = {name: tmp_path / name for name in ("mnli", "glue-diagnostic")}
    write_sample(study.tasks["mnli"], "local", where)
    settings = plan.predictions(study)["mnli"]
    weights.save(build.load(encoder, *head_of(settings.task)), encoder, tmp_path / "model", "a card")
    to, encoded = str(tmp_path / "answers.json"), str(tmp_path / "encoded")
    tokenized = plan.test_sets(study, next(iter(study.tokenizers)), "mnli")
    assert tokenized.task == settings.task
    encode_task(quiet(), tokenized, list(map(str, where.values())), str(encoder), encoded)
    predict_test(quiet(), settings, encoded, str(tmp_path / "model"), to)
    found = json.loads(Path(to).read_text())
    assert {name: len(answers) for name, answers in found.items()} == {
        "test-matched": 4, "test-mismatched": 4, "diagnostic": 4
    }  # fmt: skip
    assert set(found["diagnostic"]) <= {0, 1, 2}
    weights.note_result(tmp_path / "model", Diverged(3))
    predict_test(quiet(), settings, encoded, str(tmp_path / "model"), to)
    assert json.loads(Path(to).read_text()) == {name: [None] * 4 for name in found}


def test_what_a_submission_needs(study_folder: Path) -> None:
    reads = InputFunctions(Plan(Config(papers=["tiny"], study=str(study_folder))))
    asked = SimpleNamespace(student="tiny-kd", task="mood", seed="1")
    with pytest.raises(RetortError, match="'tiny-kd' is scored on no task that has a submission"):
        reads.answers_to_send(asked)
    with pytest.raises(RetortError, match="the weights of 'tiny-kd' on 'mood' are not kept; set keep_weights: true"):
        reads.finetuned_weights(asked)
    teacher = SimpleNamespace(student="tiny-teacher", task="mood", seed="1")
    assert reads.finetuned_weights(teacher) == "results/teachers/tiny-teacher/mood/1"


def test_the_weights_of_a_seed_lie_in_a_folder_of_its_own_and_those_of_a_teacher_do_not(tmp_path: Path) -> None:
    (tmp_path / "1-2/seed-1").mkdir(parents=True)
    assert weights_of_seed(str(tmp_path / "1-2"), "1") == str(tmp_path / "1-2/seed-1")
    (tmp_path / "1").mkdir()
    assert weights_of_seed(str(tmp_path / "1"), "1") == str(tmp_path / "1")
