"""Tests of results of finished seeds that outlive their job."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from retort.atomic import write_json
from retort.checksums import Maker, read, take, with_digest
from retort.job.attempts import KEPT, LOCKS
from retort.job.context import RunningJob, job, this_code
from retort.job.locks import hold_claim
from retort.run.rehearsal.in_process import Described
from retort.study.addresses import answers_address, name_of_seeds, score_file
from retort.training.evaluate import ScoreToWrite
from retort.training.stages.kept_seeds import each_seed, kept_folder, one_score

from tests.conftest import read_json
from tests.rule_job import rule_job
from tests.tiny.results import digest_of_answers

MODEL = Path("results/teachers/t/mood/1")
WEIGHTS = "results/students/s/mood/1-2"
OLD = Maker(commit="a", code="1")


@pytest.fixture(autouse=True)
def results(folder: Path) -> None:
    """Work in a folder with the results that the seeds are trained from."""
    make(MODEL, "weights")


def make(path: Path, text: str) -> None:
    """Make a folder, with its checksums, as a job does."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "file").write_text(text)
    take(path, "job", this_code(), (), {})


def seeds_job(*seeds: int, settings: str = "short", **more: Any) -> Described:
    """Return a job that trains seeds, in a folder of results as Snakemake leaves it: without its outputs."""
    name = name_of_seeds([*seeds])
    scores = score_file("s", "mood", name)
    outputs = {"scores": scores, "answers": answers_address(scores), **more.pop("outputs", {})}
    for path in outputs.values():
        Path(path).unlink(missing_ok=True) if path.endswith(".json") else shutil.rmtree(path, ignore_errors=True)
    return rule_job(
        rule="finetune_student",
        log=[f"finetune_student.s.mood.{name}.log"],
        input=[str(MODEL)],
        output=outputs,
        wildcards={"student": "s", "task": "mood", "seeds": name},
        params={"settings": {"schedule": settings}} | more,
    )


def trained(asked: Described, fails_at: int = 0, maker: Maker | None = None) -> dict[int, str | None]:
    """Run a job of seeds, and return the seeds that it trains, with the folders for their weights.

    The score of a seed says under which job it was trained.
    """
    done: dict[int, str | None] = {}
    with job(asked) as running:
        for own, score, weights in each_seed(running, asked):
            done[score.seed] = weights
            own.checkpoints.mkdir(parents=True)
            if score.seed == fails_at:
                raise ZeroDivisionError
            if weights:
                Path(weights).mkdir(parents=True)
                Path(weights, "model").write_text(f"weights of {score.seed}")
                own.resumed_from.add(OLD)
            write(own, score, maker or this_code())
    return done


def write(own: RunningJob, score: ScoreToWrite, maker: Maker) -> None:
    """Write a score and its answers, as the training of a seed does."""
    answers = {"test": f"answers of {score.seed}"}
    write_json(score.answers, answers, indent=None)
    record = {"seed": score.seed, "trained by": own.name, **maker.model_dump(), **own.lineage()}
    write_json(score.file, with_digest({**record, "answers_sha256": digest_of_answers(answers)}))


def numbers(*seeds: int, **more: Any) -> list[int]:
    """Run a job of seeds, and return the numbers of those that it trains."""
    return list(trained(seeds_job(*seeds, **more)))


def scores_of(seeds: str) -> list[dict[str, Any]]:
    """Return the scores that a job has written."""
    found: list[dict[str, Any]] = read_json(Path(score_file("s", "mood", seeds)))
    return found


def test_a_further_seed_is_trained_alone() -> None:
    assert numbers(1, 2) == [1, 2]
    before = scores_of("1-2")
    assert [score["trained by"] for score in before] == [f"finetune_student(s, mood, {seed})" for seed in (1, 2)]
    assert numbers(1, 2, 3) == [3]
    *kept, further = scores_of("1-2-3")
    assert kept == before
    assert further["trained by"] == "finetune_student(s, mood, 3)"
    path = Path(score_file("s", "mood", "1-2-3"))
    answers = Path(answers_address(str(path)))
    assert read_json(answers) == {str(seed): {"test": f"answers of {seed}"} for seed in (1, 2, 3)}
    for file in (path, answers):
        found = read(file)
        assert found is not None
        assert found.job == "finetune_student(s, mood, 1-2-3)"
        assert found.parents.keys() == {str(MODEL)}
    assert "seed 2 was trained before\n" in Path("finetune_student.s.mood.1-2-3.log").read_text()


def test_a_seed_that_a_job_of_a_stopped_run_trains_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert numbers(1) == [1]
    kept = kept_folder("s", "mood", 1)
    unfinished = kept.rename("unfinished")
    with contextlib.ExitStack() as other:
        other.enter_context(hold_claim(LOCKS / kept.name, "another job"))

        def end(seconds: float) -> None:
            unfinished.rename(kept)
            other.close()

        monkeypatch.setattr("retort.job.locks.time.sleep", end)
        assert numbers(1, 2) == [2]
    log = Path("finetune_student.s.mood.1-2.log").read_text()
    assert re.match(r"waits for the end of process \d+ on .*, which makes the same\nseed 1 was trained before\n", log)


def test_seeds_that_are_divided_among_other_jobs_are_not_trained_again() -> None:
    assert numbers(1, 2) == [1, 2]
    assert numbers(1) == []
    assert numbers(2, 3) == [3]
    assert [score["seed"] for score in scores_of("2-3")] == [2, 3]


def test_the_file_of_scores_names_the_code_behind_each_of_them() -> None:
    trained(seeds_job(1), maker=OLD)
    assert numbers(1, 2) == [2]
    found = read(Path(score_file("s", "mood", "1-2")))
    assert found is not None
    assert found.maker == this_code()
    assert OLD in found.ancestors


def test_a_job_that_fails_keeps_the_seeds_that_are_done() -> None:
    with pytest.raises(ZeroDivisionError):
        trained(seeds_job(1, 2, 3), fails_at=2)
    assert not Path(score_file("s", "mood", "1-2-3")).exists()
    checkpoints = [Path(f"results/checkpoints/scores.s.mood.seed-{seed}") for seed in (1, 2)]
    assert [path.exists() for path in checkpoints] == [False, True]
    shutil.rmtree(checkpoints[1])
    assert numbers(1, 2, 3) == [2, 3]


KEPT_SCORE = KEPT / "scores.s.mood.seed-1/score.json"
KEPT_ANSWERS = KEPT_SCORE.with_name("score.answers.json")


def damaged(path: Path, old: str, new: str) -> Callable[[], Any]:
    """Return a function that changes what is kept."""

    def change() -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


CHANGES: dict[str, Callable[[], Any]] = {
    "other inputs": lambda: make(MODEL, "other weights"),
    "a damaged score": damaged(KEPT_SCORE, "mood, 1", "mood, 7"),
    "damaged answers": damaged(KEPT_ANSWERS, "of 1", "of 7"),
    "no answers": lambda: KEPT_ANSWERS.unlink(),
    "a score that is none": lambda: KEPT_SCORE.write_text("[]"),
    "a damaged key": lambda: KEPT_SCORE.with_name("key.json").write_text("{"),
    "killed before they were complete": lambda: KEPT_SCORE.with_name("key.json").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_as_it_was_is_trained_again(change: str) -> None:
    trained(seeds_job(1))
    CHANGES[change]()
    assert numbers(1) == [1]
    assert numbers(1) == []


def test_other_settings_are_another_training() -> None:
    trained(seeds_job(1))
    assert numbers(1) == []
    assert numbers(1, settings="long") == [1]
    assert numbers(1) == [1]


def test_a_seed_whose_weights_are_read_is_trained_for_them() -> None:
    weights: dict[str, Any] = {"outputs": {"weights": WEIGHTS}, "reads_weights": [1]}
    assert trained(seeds_job(1, 2, **weights)) == {1: f"{WEIGHTS}/seed-1", 2: None}
    assert numbers(1, 2, **weights) == [1]
    found = read(Path(WEIGHTS))
    assert found is not None
    assert (found.job, found.files.keys()) == ("finetune_student(s, mood, 1-2)", {"seed-1/model"})
    assert OLD in found.ancestors
    assert numbers(1, 2, **(weights | {"reads_weights": []})) == []
    assert Path(WEIGHTS).is_dir()  # Snakemake expects it
    assert not list(Path(WEIGHTS).glob("seed-*"))


def test_the_only_score_of_a_teacher_is_a_file_of_one() -> None:
    scores = score_file("t", "mood", "3")
    asked = rule_job(
        rule="finetune_teacher",
        log=["finetune_teacher.t.mood.3.log"],
        output={"scores": scores, "answers": answers_address(scores)},
    )
    with job(asked) as running:
        with one_score(running, "t", "mood", 3, asked.output) as score:
            assert (score.student, score.task, score.seed) == ("t", "mood", 3)
            write(running, score, OLD)
        checkpoints = running.checkpoints
    assert [score["seed"] for score in read_json(Path(scores))] == [3]
    assert read_json(Path(answers_address(scores))) == {"3": {"test": "answers of 3"}}
    assert not checkpoints.exists()
    found = read(Path(scores))
    assert found is not None
    assert found.ancestors == [OLD]
