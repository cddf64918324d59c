"""Tests that `retort verify` tells what is damaged, lost or forged, and that its repair and a run make it anew."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from retort import checksums
from retort.checksums import REMEDY, sha256
from retort.study.cells import answers_address

from tests.conftest import copy_study, read_json, snakemake
from tests.tiny.results import change_record
from tests.workflow.test_incremental import planned

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

RUN = "now run as before, such as: snakemake --cores all --logger retort --configfile config.yaml"
SCORE, ANSWERS = (f"results/scores/tiny-kd/mood/seed-1{end}" for end in (".json", ".answers.json"))
ENCODED, TEACHER = "results/encoded/mood/encoder", "results/teachers/tiny-teacher/mood/model"


def flip(path: Path) -> None:
    """Change one bit in the middle of a file, or of the largest file of a folder."""
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    file = max(files, key=lambda each: each.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.unlink()  # a file of a source is a link to the user's own
    file.write_bytes(content)


def lose(path: Path) -> None:
    """Delete a file or folder, as a user does by hand."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


# a result -> kinds of jobs that make it, and what was made from it, anew
RESULTS = {
    "results/sources/texts": {"fetch_source", "encode_task", "build_corpus", "finetune_teacher", "distill_student"},
    ENCODED: {"encode_task", "finetune_teacher", "distill_on_task", "finetune_student"},
    "results/corpora/sentences/encoder": {"build_corpus", "distill_student", "run_grid", "finetune_student"},
    TEACHER: {"finetune_teacher", "record_activations", "distill_on_task"},
    "results/students/tiny-predicting/model": {"distill_student", "save_student", "run_grid", "finetune_student"},
    "results/trials/tiny-predicting/mood/1-of-1.jsonl": {"run_grid", "finetune_student"},
    SCORE: {"distill_on_task"},
    ANSWERS: {"distill_on_task"},
    "results/profiles/tiny-kd.json": {"profile_student"},
    "results/tables/tiny/table1.csv": {"make_table"},
}
RUN_THROUGH = {"results/corpora/sentences/encoder", TEACHER, SCORE}
LOST = [(result, lose) for result in RESULTS]
FLIPPED = [(result, flip) for result in ("results/sources/texts", TEACHER, SCORE, ANSWERS)]


def verified(folder: Path, *options: str) -> list[str]:
    """Return the lines of `retort verify`."""
    command = [sys.executable, "-m", "retort", "verify", "--config", "config.yaml", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


def numbers(folder: Path) -> dict[str, Any]:
    """Return the metrics and answers of all scores, the bytes of weights and of tables: all but times and origins."""
    scores = {path: read_json(path) for path in folder.glob("results/scores/*/*/seed-*.json")}
    found: dict[Path, Any] = {path: score.get("metrics", score) for path, score in scores.items()}
    for pattern in ("results/tables/*/*.csv", "results/students/*/model/*.safetensors", "reports/*/table*.tex"):
        found |= {path: path.read_bytes() for path in folder.glob(pattern)}
    return {str(path.relative_to(folder)): content for path, content in found.items()}


@pytest.mark.parametrize(("result", "damage"), [*LOST, *FLIPPED])
def test_what_is_damaged_or_lost_is_made_anew(result: str, damage: Callable[[Path], None], copied: Path) -> None:
    before = numbers(copied)
    damage(copied / result)
    *lines, last = verified(copied, "--repair")
    assert any(line.startswith(result) and line.endswith(REMEDY) for line in lines)
    assert last == RUN
    jobs, _ = planned(copied)
    assert jobs.keys() >= RESULTS[result] | {"make_table", "make_page", "make_index"}
    if damage is lose and result in RUN_THROUGH:
        snakemake(copied)
        assert verified(copied)[-1].endswith("all as they were made")
        assert numbers(copied) == before
    assert (copied / "texts/rated.txt").is_file()  # the user's own file


# --- forgeries: each has right checksums


def seal(path: Path) -> None:
    """Take the checksums of a result again."""
    known = checksums.read(path)
    assert known
    checksums.take(path, known.job, known.maker, known.ancestors, known.parents)


def perfect(key: str, other: str) -> Callable[[Path, Path], None]:
    """Return a function that gives a score of 100 % by writing answers as truth, or truth as answers."""

    def forge(folder: Path, clone: Path) -> None:
        score, answers = folder / SCORE, folder / answers_address(SCORE)
        stored = read_json(answers)
        for split in stored.values():
            split[key] = split[other]
        answers.write_text(json.dumps(stored))
        change_record(score, metrics=dict.fromkeys(read_json(score)["metrics"], 1.0), answers_sha256=sha256(answers))
        seal(score)
        seal(answers)

    return forge


def copy_encoded(folder: Path, clone: Path) -> None:
    """Copy an encoded task from a clone with other texts."""
    lines = (clone / "texts/rated.txt").read_text(encoding="latin-1").replace("glad", "dim")
    (clone / "texts/rated.txt").write_text(lines, encoding="latin-1")
    snakemake(clone, "--forcerun", "fetch_source", "--", ENCODED)
    shutil.rmtree(folder / ENCODED)
    shutil.copytree(clone / ENCODED, folder / ENCODED)


def flip_and_seal(folder: Path, clone: Path) -> None:
    """Change a bit of a teacher's weights."""
    flip(folder / TEACHER)
    seal(folder / TEACHER)


FORGERIES: dict[str, tuple[Callable[[Path, Path], None], str, str]] = {
    "truth of a score": (perfect("truth", "answers"), "the true answers on 'test' are not the labels in", SCORE),
    "answers of a score": (perfect("answers", "truth"), f"table1.csv was made from another {SCORE}", SCORE),
    "encoded task of another clone": (copy_encoded, f"{TEACHER} was made from another {ENCODED}", ENCODED),
    "weights": (flip_and_seal, f"{SCORE} was made from another {TEACHER}", TEACHER),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_what_is_forged_and_sealed_again_is_told_and_made_anew(forgery: str, copied: Path, tmp_path: Path) -> None:
    forge, words, result = FORGERIES[forgery]
    forge(copied, copy_study(copied, tmp_path / "clone"))
    *lines, last = verified(copied, "--repair")
    assert any(words in line for line in lines)
    assert last == RUN
    assert not (copied / result).exists()
    assert not (copied / "results/kept/scores.tiny-kd.mood.seed-1").exists()
    assert planned(copied)[0].keys() >= RESULTS[result]
