"""Tests of extractive question answering: windows of contexts, the search for spans, and what is trained and stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from retort.data.encoded import Encoded
from retort.data.encoding import SplitWriter, encode_task
from retort.data.tokenizers import Tokeniser
from retort.errors import RetortError
from retort.models import build
from retort.tasks import task_type_of, task_types
from retort.tasks.windows import SpanQuestion, question_windows, stored_questions
from retort.training.evaluate import predict_logits
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tests.conftest import DATA, needs_data
from tests.job_settings import split_settings, task_settings
from tests.tiny.make import train_tokenizer

CONTEXT = "The old ferry starts in Oban at noon. It runs twice a day, and é costs nothing; nobody knows why it is free."


FAMILIES = ["bert", "roberta", "xlm-roberta"]


def tokenizer_of(family: str) -> Tokenizer:
    """Return a tokenizer of a family's type that is trained on the context."""
    return train_tokenizer(family, [CONTEXT] * 5, 300 if family == "roberta" else 60)  # 256 bytes, or characters


QUESTIONS = [
    SpanQuestion("a", "Where does the old ferry start?", CONTEXT, (("Oban", 24), ("in Oban", 21)), "squad"),
    SpanQuestion("b", "How often?", CONTEXT, (("twice a day", 46),), "squad"),
    SpanQuestion("c", "What is free?", CONTEXT, (("é", 63),), "squad"),
    SpanQuestion("d", "Who sleeps?", "Nobody knows.", (), "squad"),
]


# the windows into which long contexts are cut, with tokenizers of three families


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("room", "overlap"), [(12, 4), (24, 8), (200, 8)])
def test_windows_are_those_of_the_tokenizer(family: str, room: int, overlap: int) -> None:
    """Windows have the input ids, token type ids and characters of `tokenizers` when it cuts the second text."""
    tokenizer = tokenizer_of(family)
    length = room + max(len(tokenizer.encode(question.text).ids) for question in QUESTIONS)
    rows = Encoded.from_table(question_windows(QUESTIONS, Tokeniser.of(tokenizer), length, overlap, 64)[""])
    tokenizer.enable_truncation(length, stride=overlap, strategy="only_second")
    row = 0
    for number, question in enumerate(QUESTIONS):
        whole = tokenizer.encode(question.text, question.context)
        for window in (whole, *whole.overflowing):
            own = slice(rows.offsets[row], rows.offsets[row + 1])
            assert rows.input_ids[own].tolist() == window.ids
            # after the first window, `tokenizers` gives the second text token type id 1, whatever the template says
            types = window.type_ids if 1 in whole.type_ids else [0] * len(window.ids)
            assert rows.token_type_ids[own].tolist() == types
            spans = [
                span if text == 1 else (-1, -1) for span, text in zip(window.offsets, window.sequence_ids, strict=True)
            ]
            assert list(zip(rows.more["starts"][own], rows.more["ends"][own], strict=True)) == spans
            assert rows.more["question"][row] == number
            row += 1
    assert row == len(rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_lead_back_to_the_first_answer(family: str) -> None:
    rows = Encoded.from_table(question_windows(QUESTIONS, Tokeniser.of(tokenizer_of(family)), 64, 15, 64)[""])
    held: dict[int, list[str]] = {}
    for row, (first, last) in enumerate(rows.labels.tolist()):
        number, at = int(rows.more["question"][row]), rows.offsets[row]
        if last:
            shown = QUESTIONS[number].context[rows.more["starts"][at + first] : rows.more["ends"][at + last]]
            held.setdefault(number, []).append(shown)
        else:
            assert first == 0
    assert {number: set(shown) for number, shown in held.items()} == {0: {"Oban"}, 1: {"twice a day"}, 2: {"é"}}


def test_a_long_question_is_cut_and_a_window_without_room_is_told() -> None:
    tokenise = Tokeniser.of(tokenizer_of("bert"))
    long = SpanQuestion("long", "the old ferry " * 30, CONTEXT, (), "squad")
    rows = Encoded.from_table(question_windows([long], tokenise, 40, 8, 12)[""])
    first = rows.input_ids[: rows.offsets[1]].tolist()
    assert first.index(3) == 13  # [CLS], twelve tokens, [SEP]
    with pytest.raises(RetortError, match="question long: 7 tokens of its context fit .*, and windows overlap by 8"):
        question_windows([long], tokenise, 22, 8, 12)


# answers

real = needs_data("SQuAD")
COLUMNS = {"id": "id", "question": "question", "context": "context", "label": "answers"}


@pytest.fixture
def rows(tmp_path: Path) -> Encoded:
    """Return the questions as an encoded split, in windows of at most 40 tokens."""
    SplitWriter(tmp_path, []).write("dev", question_windows(QUESTIONS, Tokeniser.of(tokenizer_of("bert")), 40, 12, 64))
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


def scores_of_labels(kind: Any, rows: Encoded) -> dict[str, float]:
    """Return the scores of logits that point to the labels."""
    logits, each = np.zeros((len(rows), int(rows.lengths.max()), 2), np.float32), np.arange(len(rows))
    logits[each, rows.labels[:, 0], 0] = logits[each, rows.labels[:, 1], 1] = 9
    logits[:, 0] -= 3
    return dict(kind.scores(kind.answers(logits, rows), kind.truth(rows)))


def test_true_positions_give_full_marks(rows: Encoded) -> None:
    scores = scores_of_labels(task_types["span-or-none"](), rows)
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
    questions = [SpanQuestion(str(n), "which day", f"{said} {n}", (("warm house", 15),), "squad") for n in range(12)]
    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    tables = task_type_of(TASK).encode(TASK, questions, Tokeniser.of(tokenizer))
    SplitWriter(tmp_path / "tiny", []).write("train", tables)
    return Encoded.load(tmp_path / "tiny", "train")


def test_logits_are_starts_and_ends(encoder: Path, tiny: Encoded) -> None:
    torch.manual_seed(0)
    model: Any = build.load(encoder, "span", 2)
    logits = predict_logits(model, tiny, task_type_of(TASK).width(TASK, tiny), "float32", "cpu")
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
    scores = scores_of_labels(found, rows)
    assert scores["exact"] > 0.99
    assert scores["f1"] > 0.99
