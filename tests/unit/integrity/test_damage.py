"""Tests of damaged, truncated, swapped and edited results: each has one line with a remedy, and none is accepted."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import REMEDY, place_of, take
from retort.cli import main
from retort.errors import RetortError
from retort.job.context import job, this_code
from retort.results.collect import read_profiles, read_scores

from tests.rule_job import rule_job
from tests.tiny.results import change_answers, change_score, write_results
from tests.tiny.variant import write_study

# result -> the file of it that is damaged, and its content
RESULTS = {
    "results/sources/texts": ("rated.txt", "1_1\t2\tgood\n"),
    "results/encoded/mood/encoder": ("train/input_ids.npy", "the labels of rows"),
    "results/corpora/sentences/encoder": ("data-00000-of-00001.arrow", "blocks of tokens"),
    "results/teachers/t/mood/1": ("model.safetensors", "the weights of a teacher"),
    "results/students/s/model": ("config.json", '{"hidden_size": 24}'),
    "results/trials/s/mood/1-of-1.jsonl": ("", '{"number": 1, "status": "ok", "dev": 0.5}\n'),
    "results/scores/s/mood/1.answers.json": ("", '{"1": {"test": {"answers": [1], "truth": [1]}}}'),
    "results/tables/tiny/table1.csv": ("", "paper,table\ntiny,table1\n"),
}


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def flip_in_place(path: Path) -> None:
    """Change one bit and leave size and time as they were, as a bad disk does."""
    status = path.stat()
    flip(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "flipped": flip,
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "appended": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "deleted": lambda path: path.unlink(),
    "replaced by a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.fixture
def results(here: Path) -> Path:
    """Return a folder with a result of each type, each with its checksums."""
    for name, (inner, content) in RESULTS.items():
        path = Path(name) / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        take(Path(name), "job", this_code(), (), {})
    return here


def line_of_a_job_that_reads(result: str, capsys: pytest.CaptureFixture[str], body: Callable[[], None]) -> str:
    """Return the line with which a job ends that reads a result; fail if it does not end."""
    with pytest.raises(SystemExit), job(rule_job(input=[result])):
        body()
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == ["  log: rule.a.log"]
    return lines[0]


def nothing() -> None:
    """Do nothing."""


FOLDERS = [result for result, (inner, _) in RESULTS.items() if inner]


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_job_does_not_read_a_damaged_result_nor_trust_damaged_checksums(
    result: str, damage: str, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, gone = Path(result) / RESULTS[result][0], damage in ("deleted", "replaced by a folder")
    if result in FOLDERS or not gone:
        DAMAGE[damage](path)
        line = line_of_a_job_that_reads(result, capsys, nothing)
        assert line.startswith(f"rule(a): {path} is not as it was made: ") or gone
        assert line.endswith(f"; {REMEDY}")
    if not gone and damage != "appended":  # white space at the end would change nothing
        DAMAGE[damage](place_of(Path(result)))
        assert "checksums.json is damaged" in line_of_a_job_that_reads(result, capsys, nothing)


@pytest.mark.parametrize("result", RESULTS)
def test_what_no_time_tells_is_found_by_verify_and_by_a_job_that_fails(
    result: str, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = results / "config.yaml"
    config.write_text(json.dumps(write_study(results / "study")))
    assert main(["verify", "--config", str(config)]) == 0
    path = Path(result) / RESULTS[result][0]
    flip_in_place(path)
    capsys.readouterr()
    assert main(["verify", "--config", str(config)]) == 1
    line = f"{path} is not as it was made: its content has changed; {REMEDY}"
    assert line in capsys.readouterr().out

    def crash() -> None:
        raise ValueError("cannot reshape array")

    assert line in line_of_a_job_that_reads(result, capsys, crash)


def test_verify_names_what_has_no_checksum_and_what_was_added(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (results / "config.yaml").write_text(json.dumps(write_study(results / "study")))
    Path("results/scores/s/mood/2.json").write_text("{}")
    Path("results/students/s/model/pytorch_model.bin").write_text("pickled")
    assert main(["verify", "--config", "config.yaml"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("results/students/s/model/pytorch_model.bin was added after")
    assert lines[1].startswith("results/scores/s/mood/2.json has no checksum")
    assert main(["verify", "results/corpora", "--config", "config.yaml"]) == 0
    assert main(["verify", "results/nothing", "--config", "config.yaml"]) == 2


# --- scores and profiles: what is edited, and what the line says

SCORE, PROFILE = "results/scores/tiny-kd/mood/1-2-3.json", "results/profiles/tiny-attention.json"
ANSWERS, OTHER = SCORE.replace(".json", ".answers.json"), SCORE.replace("tiny-kd", "tiny-attention")


def edit(path: str, old: str, new: str) -> Callable[[], Any]:
    """Return a function that replaces text in a file, as an editor does."""

    def replace() -> None:
        text = Path(path).read_text()
        assert old in text
        Path(path).write_text(text.replace(old, new))

    return replace


def forge(**changes: Any) -> Callable[[], Any]:
    """Return a function that changes the score of a seed and computes its checksum again."""
    return lambda: change_score(Path(SCORE), 2, **changes)


def answer(answers: Any) -> Callable[[], Any]:
    """Return a function that writes other answers of a seed, and computes both checksums again."""
    return lambda: change_answers(Path(SCORE), 2, answers)


def change_answers_alone(change: Callable[[dict[str, Any]], Any]) -> Callable[[], Any]:
    """Return a function that changes the answers of seeds, and leaves the scores as they are."""

    def write() -> None:
        stored = json.loads(Path(ANSWERS).read_text())
        change(stored)
        Path(ANSWERS).write_text(json.dumps(stored))

    return write


EDITED = {
    "metric far too high": (edit(SCORE, "0.72", "9.72"), "seed 2 is not as it was made: its content and its checksum"),
    "forged, out of range": (forge(metrics={"accuracy": 9.72}), "seed 2: accuracy is 9.72, and can be 0 to 1"),
    "forged, in range": (forge(metrics={"accuracy": 0.99}),
                         "seed 2: accuracy is 0.99, and the answers next to it give 0.72"),
    "forged NaN": (forge(metrics={"accuracy": float("nan")}), "accuracy is nan, and the answers next to it give 0.72"),
    "forged, diverged with metrics": (forge(status="diverged", step=3),
                                      "seed 2 has metrics, though its training diverged"),
    "forged seed": (forge(seed=3), "does not hold one score for each of its seeds"),
    "forged, no metrics": (forge(metrics={}), "seed 2 has no metric, and the answers next to it give accuracy"),
    "forged, unlabelled": (forge(metrics={}, unlabelled=["test"]), "has no metric, and the answers next to it give"),
    "forged, metric a word": (forge(metrics={"accuracy": "high"}),
                              "seed 2 is not a whole result (metrics.accuracy: "),
    "forged status": (forge(status="fine"), "is not a whole result (status: "),
    "forged, diverged nowhere": (forge(status="diverged", metrics={}), "(status: a training that diverged has a step"),
    "forged split": (forge(split="dev"), "accuracy is 0.72, and the answers next to it give nan"),
    "forged, no split": (forge(split=None), "no metric of results/scores/tiny-kd/mood/1-2-3.json, seed 2 can be "
                                            "computed from the answers next to it"),
    "forged maker": (forge(resumed_from=[{"commit": 3}]), "is not a whole result (resumed_from.0.commit: "),
    "forged sample": (forge(sample={"train": [1]}), "is not a whole result (sample.train: "),
    "no checksum": (lambda: Path(SCORE).write_text('[{"settings": {}, "seed": 1}]'),
                    "seed 1 has no checksum of itself"),
    "no settings": (lambda: Path(SCORE).write_text('[{"seed": 1}]'), "seed 1 is not a whole result"),
    "a number for a score": (lambda: Path(SCORE).write_text("[4]"), "seed 4 is not a whole result"),
    "no list": (lambda: Path(SCORE).write_text('{"settings": {}}'), "1-2-3.json is not a whole result"),
    "no score": (lambda: Path(SCORE).write_text("[]"), "1-2-3.json is not a whole result"),
    "empty": (lambda: Path(SCORE).write_text(""), "1-2-3.json is not a whole result"),
    "bytes": (lambda: Path(SCORE).write_bytes(b"\xff\xfe\x00"), "1-2-3.json is not a whole result"),
    "of another student": (lambda: shutil.copy(OTHER, SCORE), 'seed 1 is of student "tiny-attention"'),
    "answers edited": (edit(ANSWERS, '0]}}, "3"', '1]}}, "3"'),
                       "does not hold the answers that results/scores/tiny-kd/mood/1-2-3.json, seed 2 was computed"),
    "answers deleted": (lambda: Path(ANSWERS).unlink(),
                        "is missing, the answers of results/scores/tiny-kd/mood/1-2-3.json, seed 1"),
    "answers of another": (lambda: shutil.copy(ANSWERS.replace("tiny-kd", "tiny-attention"), ANSWERS), "does not hold"),
    "answers of another seed": (change_answers_alone(lambda stored: stored.update({"2": stored["1"]})),
                                "seed 2 was computed from"),
    "answers of a seed deleted": (change_answers_alone(lambda stored: stored.pop("2")), "holds no answers of seed 2"),
    "answers forged, a number": (answer(3), "holds no answers of seed 2"),
    "answers forged, a list": (lambda: Path(ANSWERS).write_text("[]"), "holds no answers of seed 1"),
    "answers forged, junk": (answer({"test": 3}), "can be computed from the answers next to it"),
    "profile edited": (edit(PROFILE, "1500000", "150000"), "its content and its checksum differ"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", EDITED)
def test_an_edited_score_is_not_collected(mistake: str, config: dict[str, Any]) -> None:
    study = write_results(config)
    assert read_scores(study, [SCORE])
    assert read_profiles(study, [PROFILE])
    spoil, said = EDITED[mistake]
    spoil()
    with pytest.raises(RetortError) as refused:
        _ = read_scores(study, [SCORE]), read_profiles(study, [PROFILE])
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(REMEDY)
