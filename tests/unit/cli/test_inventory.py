"""Tests of what `retort check --data` tells of the files of tasks, models and corpora."""

from __future__ import annotations

import json
import re
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import sha256
from retort.cli.inventory import PROBLEM, inventory, summary
from retort.run.run_sources import absent_in_folders
from retort.specs.config import Config
from retort.study.cells import required
from retort.study.load import open_study
from retort.tasks import task_types

from tests.contracts.mistakes.models import MISTAKES, Mend
from tests.contracts.mistakes.tasks import DRAWN
from tests.tiny.edit import TABLE, add, set_value, write
from tests.tiny.make import OTHERS, make_encoder, make_family, make_texts


@pytest.fixture
def home(study_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home directory with the sources of the tiny study, which its YAML files name by `~`."""
    folder = study_folder.parent / "home"
    make_texts(folder / "texts")
    make_encoder(folder / "encoder")
    for name in ("texts", "encoder"):
        set_value(study_folder, f"sources/{name}.yaml", "path", to=f"~/{name}")
    monkeypatch.setenv("HOME", str(folder))
    return folder


def told(study_folder: Path, every: bool = False) -> tuple[str, int]:
    """Return the inventory of the tiny study, and the number of problems."""
    study = open_study(Config(papers=["tiny"], study=str(study_folder)))
    lines, counts = inventory(study, absent_in_folders(study, required(study)), every)
    return "\n".join([*lines, summary(counts)]), counts[PROBLEM]


def test_all_sources_and_the_files_of_tasks_are_told(home: Path, study_folder: Path) -> None:
    text, count = told(study_folder)
    assert count == 0
    assert "tasks:\nmood (texts: folder ~/texts)\n  train: " in text
    assert f"models:\nencoder (encoder: folder ~/encoder)\n  {home}/encoder: 90 tokens, texts of up to 32; " in text
    assert "corpora:\nsentences (texts: folder ~/texts)" in text
    (home / "texts/rated.txt").unlink()
    assert told(study_folder)[1] >= 1


@pytest.mark.parametrize(("mend", "words"), [pytest.param(*rest, id=name) for name, *rest in MISTAKES])
def test_a_broken_folder_of_a_model_is_a_problem(home: Path, study_folder: Path, mend: Mend, words: str) -> None:
    mend(home / "encoder")
    text, count = told(study_folder)
    assert (count, words in text) == (1, True), text


def test_a_model_to_start_from_is_compared_with_the_teacher(home: Path, study_folder: Path) -> None:
    make_family(home / "other", "electra", hidden_size=24, intermediate_size=48)
    write(study_folder, "models/other.yaml", {"title": "O", "source": {"title": "O", "path": "~/other"}})
    set_value(study_folder, "papers/tiny/students.yaml", "kd", "architecture", to="other")
    set_value(study_folder, "papers/tiny/students.yaml", "kd", "initialisation", to={"checkpoint": "other"})
    text, count = told(study_folder)
    remark = "  it is of family electra; the teacher of student 'tiny-kd' is of family bert\n"
    assert (count, text.count(remark)) == (0, 1), text
    path = home / "other/tokenizer.json"
    content = json.loads(path.read_text())
    first, second, *_ = [word for word in content["model"]["vocab"] if not word.startswith("[")]
    vocabulary = content["model"]["vocab"]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    path.write_text(json.dumps(content))
    text, count = told(study_folder)
    assert (count, f"  student 'tiny-kd' starts from it: {path} and " in text) == (1, True), text


def test_files_that_end_within_a_line_are_told(home: Path, study_folder: Path) -> None:
    lines = (f"{number}_1\t{number % 2 * 2 - 1}\ta good day {number}" for number in range(160))
    (home / "texts/rated.txt").write_text("\n".join(lines))
    text, _ = told(study_folder)
    assert "rated.txt ends within a line; is it whole?" in text


def test_sizes_are_read_from_the_folder_of_the_user(home: Path, study_folder: Path) -> None:
    (study_folder / "models/encoder.yaml").write_text("title: Mine\nsource: encoder\n")
    config = Config(papers=["tiny"], study=str(study_folder))
    model = open_study(config).models["encoder"]
    assert (model.architecture.widths, model.architecture.layers) == ((24, 48, 24), 4)
    assert (model.vocabulary, model.positions) == (90, 32)
    assert told(study_folder)[1] == 0


GLAD: dict[str, list[Any]] = {"text": ["glad"], "answer_start": [0]}
DAY: dict[str, list[Any]] = {"text": ["day"], "answer_start": [5]}
WINDOWS = {"windows": {"overlap": 4, "question": 6}}
# task type -> what its task says, and two labels of a text that begins with 'glad day'
TASKS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "classification": ({"labels": ["0", "1"]}, ["0", "1"]),
    "regression": ({"bounds": [0, 1]}, [0.25, 0.75]),
    "span": (WINDOWS, [GLAD, DAY]),
    "span-or-none": (WINDOWS, [GLAD, {"text": [], "answer_start": []}]),
}


def ask(home: Path, study_folder: Path, name: str) -> dict[str, list[dict[str, Any]]]:
    """Add a task of a type to the study, and return the rows of its splits: one stands in both, dev has one label."""
    kind, (more, labels) = task_types[name], TASKS[name]
    columns = {key: key for key in ("id", *kind.required_columns)}

    def row(number: int, label: Any) -> dict[str, Any]:
        texts = {**dict.fromkeys(kind.text_columns, f"glad day {OTHERS[number]}"), "question": "glad"}
        return {key: value for key, value in {**texts, "id": f"q{number}", "label": label}.items() if key in columns}

    rows = {"train": [row(n, labels[n % 2]) for n in range(4)], "dev": [row(n, labels[0]) for n in (3, 5)]}
    for split, held in rows.items():
        (home / f"texts/{split}.jsonl").write_text("\n".join(map(json.dumps, held)))
    files = {split: f"{split}.jsonl" for split in rows}
    write(study_folder, "tasks/asked.yaml", {
        "title": "Asked", "source": "texts", "task_type": name, "metrics": list(kind.metrics[-1:]), "max_length": 16,
        "splits": {split: {"rows": len(held)} for split, held in rows.items()}, "evaluation_split": "dev", "version": 1,
        "read": {"local": {"format": "jsonl", "files": files, "columns": columns}}, "sample": rows["train"][:2], **more,
    })  # fmt: skip
    return rows


@pytest.mark.parametrize("name", list(task_types))
def test_the_rows_of_every_task_type_are_checked(name: str, home: Path, study_folder: Path) -> None:
    rows = ask(home, study_folder, name)
    metric = task_types[name].metrics[-1]
    set_value(study_folder, TABLE, "columns", 0, to={"task": "asked", "metric": metric, "label": "Mood"})
    text, count = told(study_folder)
    assert (count, text.count("have one label")) == (0, 1), text
    shown = {"classification": (": 0 2, 1 2", " 0"), "regression": (", from 0.25 to 0.75", " 0.25")}.get(name, ("", ""))
    assert f"\nasked (texts: folder ~/texts)\n  train: 4 rows{shown[0]}  sha256 " in text
    first = rows["train"][0]
    assert f"\n  first rows: {first.get('question', first.get('text'))!r}{shown[1]}, " in text
    assert re.search(r"\n  longest row: \d+ tokens; \d of \d+ fill max_length, 16\n", text)
    assert (
        "    all 2 rows of dev have one label\n    1 rows of dev stand in train, too\n    dev.jsonl ends within" in text
    )
    for label in ("fine", {"text": ["glad"]}, [1], None):
        (home / "texts/dev.jsonl").write_text(json.dumps(rows["dev"][0] | {"label": label}))
        text, count = told(study_folder)
        assert (count, "  dev: texts/dev.jsonl, line 1: " in text) == (1, True), text


def test_all_that_is_told_is_counted(home: Path, study_folder: Path) -> None:
    """A problem counts, whether a table reads the task or not; what may be meant so is a remark."""
    rows = ask(home, study_folder, "classification")
    text, _ = told(study_folder)
    assert ("asked" in text, text.endswith("\nno problem")) == (False, True)
    assert "\nasked (texts: folder ~/texts), which no table reads\n" in told(study_folder, every=True)[0]
    assert told(study_folder, every=True)[0].endswith("\nno problem, 2 remarks")
    (home / "texts/dev.jsonl").write_text(json.dumps(rows["dev"][0] | {"label": "Good"}) + "\n")
    text, count = told(study_folder, every=True)
    assert text.count("dev.jsonl, line 1: label 'Good' is not one of 0, 1\n") == count == 1
    assert text.endswith("\n1 problem, 1 remark")


def test_one_file_from_which_splits_are_drawn_is_told_in_five_lines(home: Path, study_folder: Path) -> None:
    lines = (
        f"{text} {number},{label}" for number in range(20) for text, label in (("glad day", "glad"), ("sad", "sad"))
    )
    (home / "texts/all.csv").write_text("sentence,label\n" + "\n".join(lines) + "\n")
    add(study_folder, "tasks/drawn.yaml", DRAWN)
    set_value(study_folder, TABLE, "columns", 0, to={"task": "drawn", "metric": "macro-f1", "label": "Mood"})
    text, count = told(study_folder)
    assert count == 0
    every = text.partition("\ndrawn (texts: folder ~/texts)\n")[2].splitlines()
    said = [line for line in takewhile(lambda line: line[0] == " ", every) if line[2] != " "]
    digest = sha256(home / "texts/all.csv")
    assert said[0] == f"  train: 34 rows: glad 19, sad 15  sha256 {digest}"
    assert re.fullmatch(r"  first rows: '(glad day|sad) \d+' (glad|sad), '(glad day|sad) \d+' (glad|sad)", said[1])
    assert said[3] == f"  test: 4 rows: sad 3, glad 1  sha256 {digest}"
    assert said[4].endswith(" of 40 fill max_length, 16")
    assert len(said) == 5
    (home / "texts/all.csv").unlink()
    assert "texts holds no all.csv" in told(study_folder)[0]
