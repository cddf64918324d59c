"""Tests of reading SQuAD's JSON, and of the messages for a broken file."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from retort.data.formats import formats
from retort.data.splits import SplitReader
from retort.errors import RetortError
from retort.settings.inputs import SplitSettings
from retort.tasks import task_types
from retort.tasks.metrics import normalisations
from retort.tasks.windows import Question

from tests.conftest import ROOT
from tests.job_settings import split_settings, task_settings
from tests.tiny.edit import change, problems

CONTEXT = "The old ferry starts in Oban at noon."
COLUMNS = {"id": "id", "question": "question", "context": "context", "label": "answers"}


def article(*asked: dict[str, Any], context: str = CONTEXT) -> dict[str, Any]:
    """Return the content of a file with one paragraph."""
    return {"version": "1.1", "data": [{"title": "Ferries", "paragraphs": [{"context": context, "qas": list(asked)}]}]}


def asked(name: str = "q1", answer: str = "Oban", start: int = 24, **more: Any) -> dict[str, Any]:
    """Return a question in the format of SQuAD 1.1."""
    return {"id": name, "question": "Where to?", "answers": [{"text": answer, "answer_start": start}], **more}


def read(
    path: Path, content: Any, task_type: str = "span", subset: str | None = None, **options: Any
) -> list[Question]:
    """Write the content to a file and return the questions that are read from it."""
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    columns = COLUMNS | ({"impossible": "is_impossible"} if task_type == "span-or-none" else {})
    split = SplitSettings(**split_settings(format="squad", options=options, columns=columns, label_names=[]))
    task = task_settings(task_type=task_type, labels=[], sample=True)
    records: list[Question] = SplitReader(task, task_types[task_type](), split, [path], subset).read([10**6]).records
    return records


def test_a_question_with_its_answers(tmp_path: Path) -> None:
    (found,) = read(tmp_path / "f.json", article(asked()))
    assert found == Question("q1", "Where to?", CONTEXT, (("Oban", 24),), "squad")
    (found,) = read(tmp_path / "f.json", article(asked()), subset="vi")
    assert found.normalisation == "mlqa-vi"
    none = {**asked(is_impossible=True), "answers": []}
    assert [q.answers for q in read(tmp_path / "f.json", article(none), "span-or-none")] == [()]


def test_a_question_that_is_named_is_left_out(tmp_path: Path) -> None:
    content = article(asked("q1", start=3), asked("q2"))
    assert [q.id for q in read(tmp_path / "f.json", content, leave_out=["q1"])] == ["q2"]


NO = {"answers": []}
PLACE = r"question q1 \(data\[0\].paragraphs\[0\].qas\[0\]\)"
MISTAKES: list[tuple[Any, str, str]] = [
    ('{"data": [\n{"paragraphs": [', "span", r"f.json:2: not valid JSON"),
    ({"version": "1.1"}, "span", r"f.json: no 'data'; the file does not have SQuAD's format"),
    ({"data": [{"paragraphs": {}}]}, "span", r"f.json, data\[0\]: 'paragraphs' is not a list"),
    ({"data": [{"paragraphs": [{"qas": []}]}]}, "span", r"f.json, data\[0\].paragraphs\[0\]: no 'context'"),
    (article({**asked(), "id": 7}), "span", r"f.json, data\[0\].paragraphs\[0\].qas\[0\]: 'id' is not a text"),
    (article({**asked(), "answers": [{"text": "x"}]}), "span", rf"f.json, {PLACE}: no 'answer_start'"),
    (article(asked(start=True)), "span", rf"f.json, {PLACE}: 'answer_start' is not a whole number"),
    (article(asked(), asked()), "span", r"question q1 \(.*qas\[1\]\): id 'q1' stands in question q1 \(.*qas\[0"),
    (article(asked(start=23)), "span", rf"{PLACE}: answer 'Oban' does not stand at character 23 .*, where ' Oba' is"),
    (article(asked(start=-4)), "span", rf"{PLACE}: answer 'Oban' does not stand at character -4"),
    (article(asked(start=900)), "span", rf"{PLACE}: answer 'Oban' does not stand at character 900"),
    (article(asked(answer=" ", start=3)), "span", rf"{PLACE}: an answer is empty"),
    (article({**asked(), "question": " "}), "span", rf"{PLACE}: question \(question\) is empty"),
    (article({**asked(), **NO}, context="x"), "span", rf"{PLACE}: no answer; only tasks of type 'span-or-none'"),
    (article(asked(is_impossible=True)), "span-or-none", rf"{PLACE}: is_impossible is true, and it has 1 answers"),
    (article({**asked(is_impossible=False), **NO}), "span-or-none", rf"{PLACE}: is_impossible is false, and it has 0"),
    (article(asked(is_impossible=1)), "span-or-none", rf"{PLACE}: 'is_impossible' is not true or false"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "task_type", "said"), MISTAKES)
def test_a_mistake_in_a_file(content: Any, task_type: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RetortError, match=said):
        read(tmp_path / "f.json", content, task_type)


def test_other_mistakes(tmp_path: Path) -> None:
    with pytest.raises(RetortError, match="f.json: leave_out: there is no question q9; take it out of the list"):
        read(tmp_path / "f.json", article(asked()), leave_out=["q9"])
    short = tmp_path / "f.json.gz"
    short.write_bytes(gzip.compress(json.dumps(article(asked())).encode())[:-9])
    with pytest.raises(RetortError, match=r"f.json.gz: not a whole gzip file"):
        list(formats["squad"](short, print))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("windows: {overlap: 128, question: 64}\n", "", "'windows' is missing: span cuts long contexts, as {overlap"),
        ("overlap: 128", "overlap: 320", "windows: overlap and question together leave no room in max_length"),
        ("overlap: 128", "stride: 128", "windows.stride: no key is called 'stride'"),
        ("metrics: [f1, exact]", "metrics: [f1, best-f1]", "metric 'best-f1' is not one of span's: f1, exact"),
        (
            "train_split: train",
            "train_split: train\nsubsets: [en, fr]",
            "subsets: no language of span is called 'fr'; there are",
        ),
        ("task_type: span\n", "task_type: span-or-none\nsubsets: [en]\n", "no language of span-or-none is called 'en'"),
        ("context: context, ", "", "read.local.columns: 'context' is missing"),
        ("task_type: span\n", "task_type: regression\n", "'windows' is of no use for regression"),
    ],
)
def test_a_mistake_in_a_task(study_folder: Path, old: str, new: str, said: str) -> None:
    shutil.copy(ROOT / "workflow/tasks/squad.yaml", study_folder / "tasks")
    shutil.copy(ROOT / "workflow/sources/squad.yaml", study_folder / "sources")
    assert problems(study_folder) == []
    change(study_folder, "tasks/squad.yaml", old, new)
    if "regression" in new:
        change(study_folder, "tasks/squad.yaml", "metrics: [f1, exact]", "metrics: [pearson]")
    assert any(said in line for line in problems(study_folder)), problems(study_folder)


def test_languages_of_subsets_are_those_that_the_scoring_knows() -> None:
    known = {name.removeprefix("mlqa-") for name in normalisations if name.startswith("mlqa-")}
    assert set(task_types["span"].languages) == known  # type: ignore[attr-defined]
