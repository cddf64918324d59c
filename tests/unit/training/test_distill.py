"""Tests of distillation on a corpus: the live teacher, stages, and companions that end in the same files as alone."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from retort.batch import Batch
from retort.checksums import read
from retort.errors import Diverged, RetortError
from retort.job.attempts import NEVER, Clock, Interrupted
from retort.job.context import RunningJob, job
from retort.models import build, weights
from retort.models.initialise import StartFolders
from retort.models.recorder import Key, Recorder
from retort.objectives.compose import WeightedSum
from retort.plan import resolve, resolve_data
from retort.plan.sharing import remembered_group
from retort.settings.trainings import CorpusDistillationSettings
from retort.specs.config import Config
from retort.specs.model import Architecture
from retort.study.load import open_study
from retort.training.distillation import TeacherOfCompanions, online_teacher
from retort.training.setup import LOGITS
from retort.training.stages.distill import distill_students, save_student

from tests.corpora import build_blocks
from tests.job_settings import schedule
from tests.rule_job import rule_job
from tests.tiny.edit import set_value
from tests.tiny.make import STUDY
from tests.unit.training.runs import short_after

pytestmark = pytest.mark.usefixtures("folder")
HIDDEN = ("hidden", 2)
Students = dict[str, CorpusDistillationSettings]
STEPS = {"logits": 8, "hidden": 5, "relations": 3}
FILES = ("model.safetensors", "README.md", "config.json", "tokenizer.json")


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list that gets an entry with each loss that is computed."""
    seen: list[None] = []

    def counted(self: WeightedSum, *arguments: Any, whole: Any = WeightedSum.forward) -> Any:
        seen.append(None)
        return whole(self, *arguments)

    monkeypatch.setattr(WeightedSum, "forward", counted)
    return seen


def batch() -> Batch:
    input_ids = torch.arange(5, 17).reshape(3, 4)
    return Batch(input_ids, torch.zeros_like(input_ids), torch.ones_like(input_ids, dtype=torch.bool))


@pytest.mark.parametrize("dropout", [False, True])
def test_a_teacher_is_a_fixed_function_unless_it_keeps_its_dropout(encoder: Path, dropout: bool) -> None:
    teach = online_teacher(encoder, "none", 1, "cpu", "float32")({HIDDEN}, dropout)
    assert torch.equal(teach(batch())[HIDDEN], teach(batch())[HIDDEN]) is not dropout


def test_a_teacher_is_loaded_once_by_the_first_stage_that_reads_it(
    encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = Mock(wraps=build.load)
    monkeypatch.setattr(build, "load", loaded)
    teach = online_teacher(encoder, "none", 1, "cpu", "float32")
    assert not loaded.called  # of a student that learns from labels alone, no stage asks
    for keys in ({HIDDEN}, {("hidden", 1)}):
        teach(keys, False)
    assert loaded.call_count == 1


def test_a_teacher_is_read_through_a_relu_where_its_student_is(encoder: Path) -> None:
    logits = []
    for relu in (False, False, True):
        torch.manual_seed(0)  # for the classifier, which the folder does not hold
        logits.append(
            online_teacher(encoder, "classification", 2, "cpu", "float32", relu)({LOGITS}, False)(batch())[LOGITS]
        )
    assert torch.equal(logits[0], logits[1])
    assert not torch.allclose(logits[1], logits[2])


def test_a_teacher_makes_one_pass_over_a_batch_and_its_activations_go_with_it() -> None:
    seen: list[Batch] = []

    def teacher(batch: Batch) -> dict[Key, torch.Tensor]:
        seen.append(batch)
        return {("hidden", 1): batch.input_ids * 2}

    shared, (first, second) = TeacherOfCompanions(teacher), (batch(), batch())
    assert shared(first) is shared(first)
    assert shared(second) is not shared(first)
    assert len(seen) == 2
    seen.clear()
    del first
    gc.collect()
    assert len(shared.kept) == 1


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, texts: Path, encoder: Path) -> Path:
    """Build the tiny study's corpus and return its folder."""
    home = tmp_path_factory.mktemp("corpus")
    study = open_study(Config(papers=["tiny"], study=str(STUDY)))
    build_blocks(home, texts, encoder, resolve_data.corpus_settings(study, "sentences"))
    return home / "to"


def resolved(study_folder: Path, **stage: Any) -> CorpusDistillationSettings:
    """Return the settings of the student of output distributions; its teacher is released with a masked-LM head."""
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


@pytest.fixture
def released(tmp_path: Path, encoder: Path) -> Path:
    """Return the folder of the encoder with a masked-LM head, as after pre-training."""
    folder = tmp_path / "released"
    shutil.copytree(encoder, folder)
    build.load(encoder, "masked-lm").save_pretrained(folder)
    return folder


@pytest.fixture
def students(study_folder: Path) -> Students:
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


def in_parts(students: Students, rows: int) -> Students:
    """Return students whose batches go through a device in parts of so many rows."""

    def divided(stage: Any) -> Any:
        return stage.model_copy(update={"schedule": stage.schedule.changed({"micro_batch": rows})})

    return {name: own.model_copy(update={"stages": [*map(divided, own.stages)]}) for name, own in students.items()}


def distilled(
    students: Students, teacher: Path, corpus: Path, to: str = "results/distilled", clock: Clock = NEVER, **more: Any
) -> str:
    """Distil companions, or one student alone, into the folder of a group; return the log and those of its parts."""
    for log in Path().glob("*.log"):
        log.unlink()
    start = StartFolders(teacher=str(teacher), model=str(teacher), tokenizer=str(teacher), parent=None)
    with Path("job.log").open("w") as stream:
        running = RunningJob("companions", stream, result=to, clock=clock, **more)
        distill_students(running, students, [str(corpus)], start, to, {})
    return "".join(path.read_text() for path in sorted(Path().glob("*.log")))


# time that is short in the last step of a stage ends the job after the first step of the next stage
@pytest.mark.parametrize(("questions", "stage", "step"), [(2, 1, 2), (3, 2, 1)])
def test_a_job_whose_time_is_short_in_a_stage_goes_on_in_it(
    study_folder: Path, corpus: Path, released: Path, taken: list[None], questions: int, stage: int, step: int
) -> None:
    settings = resolved(study_folder, schedule=schedule(steps=3, batch_size=8, learning_rate=0.001))
    own = {"tiny": settings.model_copy(update={"stages": settings.stages * 2})}
    distilled(own, released, corpus, "results/whole")
    saved()
    taken.clear()
    with pytest.raises(Interrupted, match=f"after step {step}"):
        distilled(own, released, corpus, "results/cut", short_after(questions))
    said = distilled(own, released, corpus, "results/cut")
    assert f"stage {stage} of 2, 3 steps, resumed at step {step}\n" in said
    assert len(taken) == 6
    made = [Path("results", name, "tiny/model.safetensors").read_bytes() for name in ("whole", "cut")]
    assert made[0] == made[1]


def test_a_head_that_the_study_promises_must_be_there(study_folder: Path, corpus: Path, encoder: Path) -> None:
    with pytest.raises(RetortError, match="has no masked-LM head; leave 'masked_lm' out of the model's file"):
        distilled({"tiny": resolved(study_folder)}, encoder, corpus)


def each_alone(students: Students, teacher: Path, corpus: Path, **more: Any) -> None:
    """Distil each student in a job of its own, into the folder results/alone."""
    for name, own in students.items():
        distilled({name: own}, teacher, corpus, "results/alone", **more)
    saved()


def saved() -> None:
    """Delete the checkpoints of students, as the job that saves a student does."""
    shutil.rmtree("results/checkpoints", ignore_errors=True)


def same_as_alone(names: Iterable[str]) -> bool:
    """Return whether all files of students that had companions are those of students alone."""
    return all(
        Path("results/distilled", name, file).read_bytes() == Path("results/alone", name, file).read_bytes()
        for name in names
        for file in FILES
    )


def test_a_student_that_reads_the_first_position_alone_gets_the_bytes_of_all_positions(
    students: Students, released: Path, corpus: Path
) -> None:
    hidden = students["hidden"].stages[0].terms[0]  # of the teacher's last layer
    first = hidden.model_copy(update={"objective": "hidden-cls", "options": {"map": "widths-differ"}})
    for name, term in (("logits", first), ("hidden", hidden)):  # one student of [CLS], and one of all positions
        stage = students[name].stages[0].model_copy(update={"terms": [term]})
        students[name] = students[name].model_copy(update={"stages": [stage]})
    students = in_parts(students, 1)
    each_alone(students, released, corpus)
    distilled(students, released, corpus)
    assert same_as_alone(students)


@pytest.mark.slow
@pytest.mark.usefixtures("forked_processes")
def test_the_files_are_those_of_students_alone_in_micro_batches_on_two_processes(
    students: Students, released: Path, corpus: Path
) -> None:
    del students["logits"]
    students, divided = (
        in_parts(students, 3),
        {"threads": 2, "gpus": 2},
    )  # two processes take 4 rows each, in parts of 2
    each_alone(students, released, corpus, **divided)
    distilled(students, released, corpus, **divided)
    assert same_as_alone(students)
    card = Path("results/distilled/hidden/README.md").read_text()
    assert '"gpus": 2\n' in card  # how its steps were taken
    assert '"micro_batch": 3' in card  # a setting


@pytest.mark.parametrize(
    ("parts", "divided", "rows"), [(3, {}, 3), (8, {"threads": 2, "gpus": 2}, 4)], ids=["parts", "gpus"]
)
@pytest.mark.usefixtures("forked_processes")
def test_a_batch_that_is_compared_whole_is_not_divided(
    students: Students, released: Path, corpus: Path, parts: int, divided: dict[str, int], rows: int
) -> None:
    own = students["hidden"]
    term = own.stages[0].terms[0].model_copy(update={"objective": "sample-similarity", "options": {}})
    joint = own.model_copy(update={"stages": [own.stages[0], own.stages[0].model_copy(update={"terms": [term]})]})
    with pytest.raises(RetortError) as caught:
        distilled(in_parts({"hidden": joint}, parts), released, corpus, **divided)
    assert str(caught.value) == (
        f"companions: 'sample-similarity' needs all 8 examples of a batch at once, and {rows} would go through a GPU; "
        "take a GPU with more memory, leave 'micro_batch' out, or give the student a smaller batch_size"
    )
    assert "step" not in Path("job.log").read_text()  # nothing was trained in parts before


def test_a_job_that_was_ended_trains_no_step_twice(
    students: Students, released: Path, corpus: Path, taken: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not those of a student that is done, while its companions have further steps."""
    each_alone(students, released, corpus)
    taken.clear()
    passes = [0]

    def passed(self: Recorder, batch: Any, run: Any = Recorder.__call__) -> Any:
        passes[0] += self.model.config.num_hidden_layers == 4  # of the teacher
        return run(self, batch)

    monkeypatch.setattr(Recorder, "__call__", passed)
    with pytest.raises(Interrupted, match="after step 4"):
        distilled(students, released, corpus, clock=short_after(4))
    assert not Path("results/distilled").exists()
    said = distilled(students, released, corpus)
    for steps in STEPS.values():
        assert f"{steps} steps, resumed at step {min(4, steps)}\n" in said
    assert len(taken) == sum(STEPS.values())
    assert passes == [8]  # one for each batch of the longest training
    assert same_as_alone(students)


def test_a_student_goes_on_alone_or_next_to_others_whoever_began_it(
    students: Students, released: Path, corpus: Path
) -> None:
    each_alone(students, released, corpus)
    with pytest.raises(Interrupted, match="after step 2"):
        distilled(students, released, corpus, clock=short_after(2))
    assert "3 steps, resumed at step 2" in distilled({"relations": students.pop("relations")}, released, corpus)
    with pytest.raises(Interrupted, match="after step 4"):
        distilled({"logits": students["logits"]}, released, corpus, clock=short_after(2))
    said = distilled(students, released, corpus)
    assert "8 steps, resumed at step 4" in said
    assert "5 steps, resumed at step 2" in said
    assert same_as_alone(STEPS)


def test_a_student_that_diverges_does_so_at_the_same_step_and_its_companions_go_on(
    students: Students, released: Path, corpus: Path
) -> None:
    stage = students["hidden"].stages[0]
    wild = stage.model_copy(update={"terms": [stage.terms[0].model_copy(update={"weight": 1e38})]})
    students["hidden"] = students["hidden"].model_copy(update={"stages": [wild]})
    each_alone(students, released, corpus)
    with pytest.raises(Interrupted, match="after step 1"):
        distilled(students, released, corpus, clock=short_after(1))
    assert "diverged at step 1, and so does all that starts from it" in distilled(students, released, corpus)
    for folder in ("alone", "distilled"):
        assert json.loads(Path("results", folder, "hidden/diverged.json").read_text()) == {"step": 1}
    assert same_as_alone({"logits", "relations"})
    assert all(weight.isfinite().all() for weight in build.load(Path("results/distilled/hidden")).parameters())
    with pytest.raises(Diverged) as caught:  # so does all that starts from it
        weights.check_not_diverged(None, Path("results/distilled/hidden"))
    assert caught.value.step == 1


@pytest.mark.parametrize(("promised", "seen", "said"), [(1, 0, "a GPU, .* none"), (4, 2, "4 GPUs, .* 2")])
def test_a_job_with_fewer_gpus_than_promised_stops(
    promised: int, seen: int, said: str, students: Students, released: Path, corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("torch.cuda.is_available", lambda: seen > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: seen)
    with pytest.raises(RetortError, match=f"the job was promised {said}"):
        distilled(students, released, corpus, gpu=True, gpus=promised)
    assert not Path("results/checkpoints").exists()


def test_a_student_that_cannot_begin_ends_the_job(students: Students, released: Path, corpus: Path) -> None:
    start = {"layers": [1, 9], "random": False}
    wrong = students["relations"].initialisation.model_copy(update=start)
    students["relations"] = students["relations"].model_copy(update={"initialisation": wrong})
    with pytest.raises(RetortError, match="teacher has no layer 9; it has 4"):
        distilled(students, released, corpus)
    assert not Path("results/checkpoints").exists()


@pytest.mark.parametrize(("group", "names"), [("hidden", ["hidden"]), ("t_1", ["hidden", "relations"])])
def test_a_student_is_saved_with_its_checksums_which_tell_the_group_that_it_was_distilled_in(
    group: str, names: list[str], students: Students, released: Path, corpus: Path
) -> None:
    own = {name: students[name] for name in names}
    folders, made = StartFolders(str(released), str(released), str(released), None), f"results/distilled/{group}"
    asked = rule_job(output=[made], log=[f"distill_students.{group}.log"], config={"checkpoint_seconds": 0})
    with job(asked) as running:
        distill_students(running, own, [str(corpus)], folders, made, {})
    for name in names:
        model, checkpoints = f"results/students/{name}/model", Path(f"results/checkpoints/students.{name}.model")
        assert checkpoints.exists()
        with job(rule_job(input=[made], output=[model], log=[f"save_student.{name}.log"])) as running:
            save_student(running, name, made, model)
        assert not checkpoints.exists()
        checksums = read(Path(model))
        assert checksums is not None
        assert checksums == read(Path(made, name))
        assert {*FILES} <= checksums.files.keys()
        assert not any("/" in file for file in checksums.files)  # nothing of its companions
        assert remembered_group(name) == group
