"""Windows: long contexts of extractive question answering are cut into several rows.

A question is one example; where its context does not fit into one window, it becomes several rows of the encoded split.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from retort.data.encoded import Encoded, TokenColumns
from retort.data.tokenizers import Tokeniser
from retort.errors import RetortError


@dataclass(frozen=True)
class SpanQuestion:
    """A question, its context and its answers.

    Args:
        id: the id of the question in the data set.
        text: the question.
        context: the text that holds the answer.
        answers: (text, first character in the context) of each answer; empty where there is no answer.
        normalisation: the rule by which answers are compared, by its name in tasks/metrics.py.
    """

    id: str
    text: str
    context: str
    answers: tuple[tuple[str, int], ...]
    normalisation: str


class Window(NamedTuple):
    """The input ids and token type ids of one row, special tokens included."""

    ids: list[int]
    type_ids: list[int]


class _Template:
    """The special tokens that a tokenizer puts around and between the two texts of a pair."""

    def __init__(self, tokenise: Tokeniser) -> None:
        row = next(iter(tokenise([("a", "a")])))  # e.g. [CLS] a [SEP] a [SEP]
        ids, types, texts = np.array(row.ids), np.array(row.type_ids), row.sequence_ids
        first, last = texts.index(0), len(texts) - texts[::-1].index(1)  # where text 0 begins, text 1 ends (exclusive)
        middle = slice(len(texts) - texts[::-1].index(0), texts.index(1))
        slices = [slice(0, first), middle, slice(last, len(texts))]
        self.special_ids = [ids[each] for each in slices]
        self.special_types = [types[each] for each in slices]
        self.question_type, self.context_type = types[first], types[last - 1]
        self.tokens = sum(map(len, self.special_ids))  # number of special tokens in a row

    def row(self, question: np.ndarray, context: np.ndarray) -> Window:
        """Return one window, encoded as the tokenizer would encode the pair."""
        ids = [self.special_ids[0], question, self.special_ids[1], context, self.special_ids[2]]
        own = np.full(len(question), self.question_type), np.full(len(context), self.context_type)
        types = [self.special_types[0], own[0], self.special_types[1], own[1], self.special_types[2]]
        return Window(np.concatenate(ids).tolist(), np.concatenate(types).tolist())

    def start(self, question: np.ndarray) -> int:
        """Return the position of the first token of the context in a window of the question."""
        return len(self.special_ids[0]) + len(question) + len(self.special_ids[1])

    def spread(self, values: np.ndarray, start: int) -> list[int]:
        """Return one value per token of a window: `values` for the context, which begins at `start`, -1 elsewhere."""
        inside: list[int] = values.tolist()
        return [-1] * start + inside + [-1] * len(self.special_ids[2])


@dataclass(frozen=True)
class _Tokens:
    """The tokens of one text, without special tokens, (tokens,) each: input ids and characters [start, end)."""

    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def _tokens_of(row: Any) -> _Tokens:
    own = np.array([sequence is not None for sequence in row.sequence_ids], bool)  # False at special tokens
    spans = np.array(row.offsets, np.int32).reshape(-1, 2)[own]  # (tokens, 2): [start, end) in characters
    return _Tokens(np.array(row.ids, np.int32)[own], spans[:, 0], spans[:, 1])


def question_windows(
    questions: list[SpanQuestion], tokenise: Tokeniser, length: int, overlap: int, longest: int
) -> dict[str, pa.Table]:
    """Return the table of the windows of all questions, and the tables `questions` and `contexts` for scoring.

    The columns of a window are:

    - `input_ids`, `token_type_ids`: as for every task (see `TokenColumns`).
    - `labels`: positions of the first and last token of the first answer; both 0, the [CLS] token, where the window
      does not hold the whole answer.
    - `question`: the row, in `questions`, of the question that the window belongs to.
    - `starts`, `ends`: the characters [start, end) of the context that each token covers; -1 for tokens outside the
      context.

    Args:
        questions: the questions, in order.
        tokenise: turns texts or pairs of texts into encodings, without truncation.
        length: the maximum number of tokens of a window.
        overlap: the number of context tokens that a window shares with the next one.
        longest: the maximum number of tokens of a question; the rest is cut off.

    Raises:
        RetortError: a question leaves too little room for its context.
    """
    template, tokens = _Template(tokenise), TokenColumns(tokenise)
    labels, owners, starts, ends = array("q"), array("i"), array("i"), array("i")
    for number, (question, question_ids, context) in enumerate(_tokenise_questions(questions, tokenise, longest)):
        answer = _answer_tokens(context, question.answers)
        first = template.start(question_ids)
        room = length - template.tokens - len(question_ids)
        for window in _window_slices(len(context.ids), room, overlap, question.id):
            tokens.add(template.row(question_ids, context.ids[window]))
            owners.append(number)
            starts.extend(template.spread(context.starts[window], first))
            ends.extend(template.spread(context.ends[window], first))
            held = window.start <= answer[0] <= answer[1] < window.stop  # False for (0, -1), no answer
            labels.extend(first + token - window.start if held else 0 for token in answer)  # context -> window
    pairs = pa.FixedSizeListArray.from_arrays(pa.array(np.asarray(labels)), 2)
    own = {"labels": pairs, "question": pa.array(np.asarray(owners))}
    return {"": pa.table(tokens.columns(starts=starts, ends=ends) | own), **_question_tables(questions)}


def _tokenise_questions(
    questions: list[SpanQuestion], tokenise: Tokeniser, longest: int
) -> Iterator[tuple[SpanQuestion, np.ndarray, _Tokens]]:
    """Yield (question, its first `longest` input ids, tokens of its context); each context is tokenised only once."""
    contexts = list(dict.fromkeys(question.context for question in questions))
    known = dict(zip(contexts, map(_tokens_of, tokenise(contexts)), strict=True))
    asked = map(_tokens_of, tokenise([question.text for question in questions]))
    for question, tokens in zip(questions, asked, strict=True):
        yield question, tokens.ids[:longest], known[question.context]


def _window_slices(tokens: int, room: int, overlap: int, name: str) -> Iterator[slice]:
    """Yield the slice of each window of a context of `tokens` tokens; a slice has at most `room` tokens."""
    if room <= overlap:
        raise RetortError(
            f"question {name}: {room} tokens of its context fit into a window, and windows overlap by {overlap}",
            "raise max_length, or lower windows.overlap or windows.question",
        )
    for start in range(0, max(tokens - overlap, 1), room - overlap):  # a later start would show no new token
        yield slice(start, min(start + room, tokens))


def _answer_tokens(context: _Tokens, answers: tuple[tuple[str, int], ...]) -> tuple[int, int]:
    """Return the first and last token of the context that overlap the first answer; (0, -1) if there is none."""
    if not answers:
        return 0, -1
    text, start = answers[0]
    held = np.flatnonzero((context.ends > start) & (context.starts < start + len(text)))  # [a, b) overlaps [c, d)
    return (int(held[0]), int(held[-1])) if len(held) else (0, -1)


def _question_tables(questions: list[SpanQuestion]) -> dict[str, pa.Table]:
    """Return the tables of the questions and of their contexts; each context is stored once."""
    contexts = list(dict.fromkeys(question.context for question in questions))
    rows = {context: row for row, context in enumerate(contexts)}
    columns = {
        "id": [question.id for question in questions],
        "context": pa.array([rows[question.context] for question in questions], pa.int32()),
        "answers": pa.array([[text for text, _ in question.answers] for question in questions], pa.list_(pa.string())),
        "normalisation": [question.normalisation for question in questions],
    }
    return {"questions": pa.table(columns), "contexts": pa.table({"text": contexts})}


def stored_questions(encoded: Encoded) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the contexts and the questions of an encoded split.

    A question has an id, the row of its context, its true answers, and the name of their normalisation.
    """
    return encoded.table("contexts")["text"].to_pylist(), encoded.table("questions").to_pylist()
