"""Tests that `retort verify` tells what is damaged, lost or forged, and that the words it prints make it anew."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from retort import checksums
from retort.checksums import REMEDY, place_of
from retort.cli import main
from retort.results.verification import VERIFIED
from retort.study.addresses import answers_address

from tests.conftest import read_json, snakemake
from tests.tiny.results import change_score

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

WORDS = "now run as before, such as: snakemake "
SCORE = "results/scores/tiny-kd/mood/1-2.json"
ENCODED, TEACHER = "results/encoded/mood/encoder", "results/teachers/tiny-teacher/mood/1"
MODEL, CORPUS = "results/students/tiny-predicting/model", "results/corpora/sentences/encoder"
TABLE, PAGE = "results/tables/tiny/table1.csv", "reports/tiny/table1.html"
CHANGED, MISSING = "is not as it was made: its content has changed", "is missing"


def largest(path: Path) -> Path:
    """Return the largest file of a folder; of a file, itself."""
    return max((each for each in path.rglob("*") if each.is_file()), key=os.path.getsize) if path.is_dir() else path


def flip(path: Path) -> None:
    """Change one bit in the middle of a file, or of the largest file of a folder, and keep its time, as a bad disk."""
    file = largest(path)
    content, status = bytearray(file.read_bytes()), file.stat()
    content[len(content) // 2] ^= 4
    file.unlink()  # a file of a source is a link to the user's own
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def lose(path: Path) -> None:
    """Delete a file or folder, as a user does by hand."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def lose_checksums(path: Path) -> None:
    """Delete the checksums of a result."""
    place_of(path).unlink()


def print_more(path: Path) -> None:
    """Give a printed mean another digit."""
    path.write_text(re.sub(r"\d(\d\.\d\d)", r"9\1", path.read_text(encoding="utf-8"), count=1), encoding="utf-8")


# --- forgeries: each has right checksums


def seal(path: Path) -> None:
    """Take the checksums of a result again."""
    known = checksums.read(path)
    assert known
    checksums.take(path, known.job, known.maker, known.ancestors, known.parents)


def flip_and_seal(path: Path) -> None:
    """Change a bit, and the checksums with it: so does a result that is copied from another clone."""
    flip(path)
    seal(path)


def perfect(key: str, other: str) -> Callable[[Path], None]:
    """Return a function that gives a score of 100 % by writing answers as truth, or truth as answers."""

    def forge(score: Path) -> None:
        answers = Path(answers_address(str(score)))
        stored = read_json(answers)
        for split in stored["1"].values():
            split[key] = split[other]
        answers.write_text(json.dumps(stored))
        metrics = dict.fromkeys(read_json(score)[0]["metrics"], 1.0)
        digest = hashlib.sha256(f"{json.dumps(stored['1'])}\n".encode()).hexdigest()
        change_score(score, 1, metrics=metrics, answers_sha256=digest)
        seal(score)
        seal(answers)

    return forge


class Row(NamedTuple):
    """A kind of damage: of which result, how, what `retort verify` says of it, and a later result that goes, too."""

    result: str
    damage: Callable[[Path], None]
    says: str
    goes: str


TRIALS, PROFILE = "results/trials/tiny-predicting/mood/1-of-1.jsonl", "results/profiles/tiny-kd.json"
PREDICTING, DISTILLED = "results/scores/tiny-predicting/mood/1-2.json", "results/scores/tiny-attention/mood"
DAMAGE = {
    "lost source": Row("results/sources/texts", lose, MISSING, CORPUS),
    "flipped source": Row("results/sources/texts", flip, CHANGED, MODEL),
    "lost encoded task": Row(ENCODED, lose, MISSING, TEACHER),
    "flipped encoded task": Row(ENCODED, flip, CHANGED, SCORE),
    "lost corpus": Row(CORPUS, lose, MISSING, MODEL),
    "flipped corpus": Row(CORPUS, flip, CHANGED, TRIALS),
    "lost teacher": Row(TEACHER, lose, MISSING, SCORE),
    "flipped teacher": Row(TEACHER, flip, CHANGED, f"{DISTILLED}/1-2.json"),
    "lost model": Row(MODEL, lose, MISSING, TRIALS),
    "flipped model": Row(MODEL, flip, CHANGED, PREDICTING),
    "checksums of a model": Row(MODEL, lose_checksums, "no checksum", PREDICTING),
    "lost trials": Row(TRIALS, lose, MISSING, PREDICTING),
    "flipped trials": Row(TRIALS, flip, CHANGED, PREDICTING),
    "lost score": Row(SCORE, lose, MISSING, TABLE),
    "flipped score": Row(SCORE, flip, CHANGED, "reports/tiny/figure1.svg"),
    "checksums of a score": Row(SCORE, lose_checksums, "no checksum", TABLE),
    "lost answers": Row(answers_address(SCORE), lose, MISSING, TABLE),
    "flipped answers": Row(answers_address(SCORE), flip, CHANGED, SCORE),
    "lost profile": Row(PROFILE, lose, MISSING, "results/tables/tiny/table2.csv"),
    "flipped profile": Row(PROFILE, flip, CHANGED, "reports/tiny/table2.html"),
    "lost table": Row(TABLE, lose, MISSING, PAGE),
    "flipped table": Row(TABLE, flip, CHANGED, "reports/tiny/claims.html"),
    "edited page": Row(PAGE, print_more, CHANGED, "reports/tiny/index.html"),
    "truth of a score": Row(SCORE, perfect("truth", "answers"), "the true answers on 'test' are not the labels", TABLE),
    "answers of a score": Row(SCORE, perfect("answers", "truth"), "was made from another results/scores", TABLE),
    "other encoded task": Row(ENCODED, flip_and_seal, f"{TEACHER} was made from another {ENCODED}", TEACHER),
    "other weights": Row(TEACHER, flip_and_seal, f"{SCORE} was made from another {TEACHER}", SCORE),
}
# damage that is met together, and made anew by one run
TOGETHER = [
    ["flipped corpus", "lost trials", "lost teacher", "checksums of a score"],
    ["checksums of a model", "flipped answers", "lost table", "edited page"],
]


def verified(capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    """Return the lines of `retort verify`."""
    capsys.readouterr()
    main(["verify", "--config", "config.yaml", *options])
    said = capsys.readouterr()
    assert not said.err
    return said.out.splitlines()


def numbers(folder: Path) -> dict[str, Any]:
    """Return the metrics and answers of all scores, the bytes of weights and of tables: all but times and origins."""
    scores = {path: read_json(path) for path in folder.glob("results/scores/*/*/[0-9]*.json")}
    found: dict[Path, Any] = {
        path: [each["metrics"] for each in content] if isinstance(content, list) else content
        for path, content in scores.items()
    }
    for pattern in ("results/tables/*/*.csv", "results/students/*/model/*.safetensors", "reports/*/table*.tex"):
        found |= {path: path.read_bytes() for path in folder.glob(pattern)}
    return {str(path.relative_to(folder)): content for path, content in found.items()}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_told_and_deleted_with_all_that_was_made_from_it(
    name: str, copied: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(copied)
    result, damage, says, goes = DAMAGE[name]
    kept = Path("results/kept/scores.tiny-kd.mood.seed-1")
    assert kept.is_dir()
    damage(Path(result))
    *lines, last = verified(capsys, "--repair")
    assert any(result in line and says in line and line.endswith(REMEDY) for line in lines), lines
    assert last.startswith(WORDS)
    assert not any(os.path.lexists(path) for path in (result, goes, place_of(Path(goes)), "reports/index.html"))
    assert kept.is_dir() == Path(SCORE).is_file()
    assert Path("texts/rated.txt").is_file()  # the user's own file


@pytest.mark.parametrize("names", TOGETHER, ids=" and ".join)
def test_the_printed_words_make_the_same_bytes(
    names: list[str], copied: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(copied)
    before = numbers(copied)
    for name in names:
        DAMAGE[name].damage(Path(DAMAGE[name].result))
    last = verified(capsys, "--repair")[-1]
    snakemake(copied, *shlex.split(last.removeprefix(WORDS)))
    assert verified(capsys)[-1].endswith("all as they were made")
    assert numbers(copied) == before


def test_a_run_tells_at_its_start_of_a_flipped_bit_and_of_an_edited_page(copied: Path) -> None:
    flip(copied / PROFILE)
    print_more(copied / PAGE)
    said = snakemake(copied, "--force", "--", "reports/tiny/claims.md").stderr
    assert "what this run does not make anew, `retort verify --repair` deletes:\n" in said
    for path in (PROFILE, PAGE):
        assert f"  {path} {CHANGED}\n" in said
    assert read_json(copied / VERIFIED)["how"] == "sizes, small files and parents, at the start of a run"
