"""Tests of students that are trained on sets of rows, from their YAML file to their score."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from retort.cli.inventory import inventory
from retort.cost.jobs import Jobs
from retort.data.encoded import Encoded
from retort.models import build
from retort.plan import resolve
from retort.plan.plan import Plan
from retort.rehearsal import rehearse
from retort.specs.config import read_config

from tests.conftest import read_json
from tests.tiny.edit import problems, remove, set_value, write
from tests.tiny.make import make_study
from tests.tiny.variant import PAPER, PROTOCOL, STUDENT, TABLE

VECTORS = {"source": "texts", "file": "vectors.txt"}
GENERATOR = {"name": "replaced-words", "copies": 2, "seed": 5, "model": "encoder", "word_vectors": VECTORS}
SETS: dict[str, Any] = {
    "replaced": {"title": "Other words", "generator": GENERATOR, "version": 1},
    "more": {"title": "More", "source": "texts", "files": {"mood": {"file": "more.txt", "rows": 30}}, "version": 1},
}
SETS_FOLDER, SCORE = "training_rows", "results/scores/tiny-kd/mood/seed-1.json"
KD = ("kd", "stages")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a study of a student with a stage on each of two sets of rows, whose model has a masked-LM head."""
    make_study(tmp_path)
    build.load(tmp_path / "encoder", "masked-lm").save_pretrained(tmp_path / "encoder")
    lines = (tmp_path / "texts" / "rated.txt").read_text().splitlines()
    (tmp_path / "texts" / "more.txt").write_text("\n".join([line for line in lines if "\t0\t" not in line][:30]) + "\n")
    (tmp_path / "texts" / "vectors.txt").write_text("glad 1 0\ngood 1 0.1\n")
    study = tmp_path / "study"
    remove(study, *(str(path.relative_to(study)) for path in study.glob("papers/tiny/*[1-4s].yaml")))
    write(study, "papers/tiny/paper.yaml", {key: PAPER[key] for key in PAPER if key != "show"})
    set_value(study, "models/encoder.yaml", "masked_lm", to=True)
    rows = [{"student": "kd", "label": "Other words"}]
    columns = [{"task": "mood", "metric": "accuracy", "label": "Mood"}]
    table = {key: TABLE[key] for key in ("kind", "title", "question")}
    write(study, "papers/tiny/table1.yaml", {**table, "columns": columns, "rows": rows})
    write(study, "protocols/short.yaml", {**PROTOCOL, "schedule": {**PROTOCOL["schedule"], "steps": None, "epochs": 2}})
    (stage,) = STUDENT["stages"]
    stages = [{**stage, "training_rows": name} for name in SETS] + [stage]
    write(study, "papers/tiny/students.yaml", {"kd": {**STUDENT, "teacher": "tiny-teacher", "stages": stages}})
    for name, content in SETS.items():
        write(study, f"{SETS_FOLDER}/{name}.yaml", content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return study


def plan() -> Plan:
    return Plan(read_config(read_json(Path("config.yaml"))))


def run() -> list[str]:
    """Run what is missing for the score, and return the kinds of the jobs that ran."""
    jobs = list(Jobs(plan()).behind([SCORE]))
    Path("results").mkdir(exist_ok=True)
    ran = [each for each in rehearse.run(jobs, read_json(Path("config.yaml"))) if each]
    assert not [each.job.name for each in ran if each.failed], "\n".join(
        Path(each.job.key).read_text() for each in ran if each.failed
    )
    return [each.job.rule.kind for each in ran]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.arrow")}


def test_a_student_is_trained_on_its_rows_and_scored_on_the_task(study: Path) -> None:
    assert problems(study) == []
    predicted = Jobs(plan()).at(SCORE).estimate.work.flops
    ran = run()
    assert ran.count("make_training_rows") == 2
    assert "record_activations" not in ran
    own, made = (
        Encoded.load(Path(f"results/{folder}/mood/encoder"), "train")
        for folder in ("encoded", "training_rows/replaced")
    )
    assert len(made) == 3 * len(own)
    assert (made.labels[::3] == own.labels).all()
    assert (made.labels.reshape(-1, 3) == own.labels[:, None]).all()
    log = Path("results/logs/distill_on_task/tiny-kd.mood.1-2-3.log").read_text()
    steps = [2 * -(-rows // 4) for rows in (len(made), 30, len(own))]
    for number, taken in enumerate(steps, start=1):
        assert f"stage {number} of 3, {taken} steps" in log
    settings = read_json(Path(SCORE))["settings"]
    assert [stage.get("training_rows") for stage in settings["stages"]] == ["replaced", "more", None]
    assert settings["training_rows"]["replaced"]["generator"]["options"] == {"threshold": 0.5, "candidates": 10}
    counted = Jobs(plan()).at(SCORE).estimate.work.flops
    assert 0 < counted < predicted  # before, 10,000 rows were assumed

    first, score = content(Path("results/training_rows")), read_json(Path(SCORE))
    assert run() == []
    shutil.rmtree("results/training_rows")
    assert set(run()) == {"make_training_rows", "distill_on_task"}
    assert content(Path("results/training_rows")) == first
    assert read_json(Path(SCORE))["metrics"] == score["metrics"]

    set_value(study, f"{SETS_FOLDER}/replaced.yaml", "generator", "seed", to=6)
    assert sorted(run()) == ["distill_on_task", "make_training_rows"]
    assert content(Path("results/training_rows/replaced")) != {
        key.removeprefix("replaced/"): value for key, value in first.items() if key.startswith("replaced/")
    }


def test_only_activations_of_the_tasks_own_rows_are_stored(study: Path) -> None:
    assert not resolve.has_stored_activations(plan().study, "tiny-kd", "mood")
    (stage,) = STUDENT["stages"]
    set_value(study, "papers/tiny/students.yaml", *KD, to=[stage])
    assert resolve.has_stored_activations(plan().study, "tiny-kd", "mood")


def test_the_files_of_a_set_are_in_the_inventory(study: Path) -> None:
    lines, count = inventory(plan().study)
    assert count == 0
    assert "replaced (texts: folder texts)" in lines
    at = lines.index("more (texts: folder texts)")
    assert lines[at + 1].startswith("  mood: texts/more.txt  30 rows  sha256 ")
    set_value(study, f"{SETS_FOLDER}/more.yaml", "files", "mood", "rows", to=31)
    lines, count = inventory(plan().study)
    assert count == 1
    assert lines[at + 1].startswith("  mood: texts/more.txt: 30 rows, and the set says 31")


def test_epochs_are_over_the_rows_of_a_set(study: Path) -> None:
    def flops() -> float:
        return Jobs(plan()).at(SCORE).estimate.work.flops

    (stage,) = STUDENT["stages"]
    set_value(study, "papers/tiny/students.yaml", *KD, to=[stage])
    own = flops()
    set_value(study, "papers/tiny/students.yaml", *KD, to=[{**stage, "training_rows": "replaced"}])
    assert flops() > 2.5 * own  # each row and two copies, and the teacher beside


MISTAKES = [
    (("papers/tiny/students.yaml", *KD, 0, "training_rows"), "replacd", "kd.stages.1.training_rows: no set of training "
     "rows is called 'replacd'; did you mean 'replaced'?"),
    (("papers/tiny/students.yaml", *KD, 0, "data"), "sentences", "training_rows: for stages on the task"),
    (("training_rows/replaced.yaml", "generator", "name"), "replaced", "generator.name: no generator is called"),
    (("training_rows/replaced.yaml", "generator", "options"), {"threshold": 2}, "generator.options.threshold: Input "
     "should be less than or equal to 1, not 2"),
    (("training_rows/replaced.yaml", "generator", "options"), {"tresh": 0.2}, "generator.options.tresh: no key is "
     "called 'tresh'; did you mean 'threshold'?"),
    (("training_rows/replaced.yaml", "generator", "model"), None, "generator.model: 'replaced-words' asks a model with "
     "a masked-LM head; name one"),
    (("training_rows/replaced.yaml", "generator", "model"), "encodr", "generator.model: no model is called 'encodr'"),
    (("models/encoder.yaml", "masked_lm"), False, "generator.model: 'encoder' has no masked-LM head, which "
     "'replaced-words' asks; name a model whose file says 'masked_lm: true'"),
    (("training_rows/replaced.yaml", "generator", "word_vectors"), {"source": "glov", "file": "v.txt"},
     "generator.word_vectors.source: no source is called 'glov'"),
    (("training_rows/replaced.yaml", "source"), "texts", "give 'source' and 'files' (rows that exist), or 'generator'"),
    (("training_rows/more.yaml", "source"), "text", "source: no source is called 'text'; did you mean 'texts'?"),
    (("training_rows/more.yaml", "files"), {"moods": {"file": "more.txt", "rows": 3}}, "files: no task is called "),
    (("training_rows/more.yaml", "files"), {"rating": {"file": "more.txt", "rows": 3}}, "training_rows/more.yaml: "
     "files: no file for task 'mood', on which 'tiny-kd' is trained"),
    (("training_rows/more.yaml", "files", "mood", "file"), "../more.txt", "'../more.txt' leaves its folder"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value", "line"), MISTAKES, ids=lambda value: str(value)[:40])
def test_a_mistake_is_one_line(study: Path, place: tuple[str, ...], value: Any, line: str) -> None:
    set_value(study, *place, to=value)
    found = problems(study)
    assert any(line in each for each in found), found
    assert len(found) <= 2
