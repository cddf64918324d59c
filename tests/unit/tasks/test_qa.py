"""Tests of extractive question answering: the search for spans, and what is trained and stored."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from retort.data.encoded import Encoded
from retort.data.encoding import SplitWriter, encode_task
from retort.data.tokenizers import Tokeniser
from retort.models import build
from retort.tasks import task_type_of, task_types
from retort.tasks.windows import Question, stored_questions, windows
from retort.training.evaluate import predict
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tests.conftest import DATA, ROOT, needs_data
from tests.job_settings import split_settings, task_settings
from tests.tiny.edit import change, problems
from tests.unit.tasks.contexts import CONTEXT, QUESTIONS, tokenizer_of

real = needs_data("SQuAD")
COLUMNS = {"id": "id", "question": "question", "context": "context", "label": "answers"}


@pytest.fixture
def rows(tmp_path: Path) -> Encoded:
    """Return the questions as an encoded split, in windows of at most 40 tokens."""
    SplitWriter(tmp_path, []).write("dev", windows(QUESTIONS, Tokeniser.of(tokenizer_of("bert")), 40, 12, 64))
    return Encoded.load(tmp_path, "dev")


def searched(logits: np.ndarray, rows: Encoded) -> Iterator[tuple[str, list[tuple[float, str]], float]]:
    """Yield, by loops: id, scored spans of the best 20 starts and ends of each window, score of 'no answer'."""
    for number, question in enumerate(QUESTIONS):
        spans, none = [], []
        for row in np.flatnonzero(rows.more["question"] == number):
            at, length = int(rows.offsets[row]), int(rows.lengths[row])
            own = logits[row, :length].astype(np.float64)
            none.append(own[0].sum())
            for start in np.argsort(-own[:, 0])[:20]:
                for end in np.argsort(-own[:, 1])[:20]:
                    first, last = int(rows.more["starts"][at + start]), int(rows.more["ends"][at + end])
                    if first >= 0 and last >= 0 and start <= end <= start + 5:
                        spans.append((own[start, 0] + own[end, 1], question.context[first:last]))
        yield question.id, sorted(spans, reverse=True), min(none)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_spans_are_those_of_a_search_by_loops(
    seed: int, rows: Encoded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retort.tasks.spans.LONGEST", 6)
    logits = np.random.default_rng(seed).normal(size=(len(rows), 40, 2)).astype(np.float32)
    found = task_types["span"]().answers(logits, rows)
    for answer, (name, spans, none) in zip(found, searched(logits, rows), strict=True):
        assert answer["id"] == name
        assert answer["text"] == spans[0][1]
        assert answer["difference"] == pytest.approx(none - spans[0][0], abs=1e-12)
        scores = [score for *_, score in answer["best"]]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] == round(spans[0][0], 4)
        assert len({tuple(span[:2]) for span in answer["best"]}) == len(scores) <= 20


def test_true_positions_give_full_marks(rows: Encoded) -> None:
    logits = np.zeros((len(rows), 40, 2), np.float32)
    for row, (first, last) in enumerate(rows.labels):
        logits[row, first, 0] = logits[row, last, 1] = 9
    logits[:, 0] -= 3
    kind = task_types["span-or-none"]()
    scores = kind.scores(kind.answers(logits, rows), kind.truth(rows))
    contexts, questions = stored_questions(rows)
    assert (contexts, [question["context"] for question in questions]) == ([CONTEXT, "Nobody knows."], [0, 0, 0, 1])
    assert scores["f1"] == scores["exact"] == scores["best-f1"] == scores["f1-unanswered"] == 1.0


def test_a_window_that_shows_no_span_answers_nothing(rows: Encoded) -> None:
    logits = np.zeros((len(rows), 40, 2), np.float32)
    logits[:, :20, 0], logits[:, :20, 1] = -9, 9  # every possible end comes before every possible start
    answer = task_types["span"]().answers(logits, rows)[0]
    assert (answer["text"], answer["best"], answer["difference"]) == ("", [], 0.0)


def test_logits_that_are_not_finite_have_no_score(rows: Encoded) -> None:
    logits = np.zeros((len(rows), 40, 2), np.float32)
    logits[0, 3, 1] = np.nan
    for name in ("span", "span-or-none"):
        kind = task_types[name]()
        answers = kind.answers(logits, rows)
        assert [answer is None for answer in answers] == [True, False, False, False]
        assert all(np.isnan(list(kind.scores(answers, kind.truth(rows)).values())))


def test_padding_is_never_an_answer(rows: Encoded) -> None:
    logits = np.random.default_rng(1).normal(size=(len(rows), 40, 2)).astype(np.float32)
    padded = np.where(np.arange(40)[:, None] < rows.lengths[:, None, None], logits, np.float32(99))
    kind = task_types["span"]()
    assert kind.answers(padded, rows) == kind.answers(logits, rows)


TASK = task_settings(task_type="span", labels=[], max_length=24, windows={"overlap": 4, "question": 8})


@pytest.fixture
def tiny(encoder: Path, tmp_path: Path) -> Encoded:
    """Return questions in the words of the tiny encoder, encoded."""
    said = "glad day and a warm house by the cold road with a good friend in the dim town of bright song"
    questions = [Question(str(n), "which day", f"{said} {n}", (("warm house", 15),), "squad") for n in range(12)]
    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    tables = task_type_of(TASK).encode(TASK, questions, Tokeniser.of(tokenizer))
    SplitWriter(tmp_path / "tiny", []).write("train", tables)
    return Encoded.load(tmp_path / "tiny", "train")


def test_logits_are_starts_and_ends(encoder: Path, tiny: Encoded) -> None:
    torch.manual_seed(0)
    model: Any = build.load(encoder, "span", 2)
    logits = predict(model, tiny, task_type_of(TASK).width(TASK, tiny), "float32", "cpu")
    assert logits.shape == (len(tiny), tiny.lengths.max(), 2)
    row = len(tiny) - 1
    place = slice(tiny.offsets[row], tiny.offsets[row + 1])
    own, types = (torch.from_numpy(x[place].astype(np.int64))[None] for x in (tiny.input_ids, tiny.token_type_ids))
    with torch.no_grad():
        output = model(input_ids=own, token_type_ids=types)
    expected = torch.stack([output.start_logits, output.end_logits], -1)[0]
    assert np.allclose(logits[row, : own.shape[1]], expected.numpy(), atol=1e-5)


@real
@pytest.mark.slow
def test_every_question_of_a_real_dev_set(tmp_path: Path) -> None:
    """Each answer lies completely in some window, and logits that point to the labels find it again."""
    columns = COLUMNS | {"impossible": "is_impossible"}
    files = {"dev": {"file": "dev-v2.0.json", "rows": [11873]}}
    split = split_settings(source="squad", format="squad", label_names=[], files=files, columns=columns)
    settings = task_settings(
        task_type="span-or-none", labels=[], max_length=200, windows={"overlap": 80, "question": 64}, sample=False,
        splits={"dev": split},
    )  # fmt: skip
    words = Tokenizer(models.WordPiece({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    words.save(str(tmp_path / "tokenizer.json"))
    found = task_type_of(settings)
    folders = {"squad": DATA / "SQuAD"}
    encode_task(settings, found, folders, tmp_path / "tokenizer.json", tmp_path / "to", lambda _: None)
    rows = Encoded.load(tmp_path / "to", "dev")
    logits = np.zeros((len(rows), int(rows.lengths.max()), 2), np.float32)
    each = np.arange(len(rows))
    logits[each, rows.labels[:, 0], 0] = logits[each, rows.labels[:, 1], 1] = 9
    logits[:, 0] -= 3
    scores = found.scores(found.answers(logits, rows), found.truth(rows))
    assert scores["exact"] > 0.99
    assert scores["f1"] > 0.99


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
            "no language of span is called 'fr'; ",
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
