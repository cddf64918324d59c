"""Extractive question answering: SQuAD's JSON format, and the cutting of long contexts into windows.

A question is one example; where its context does not fit into one window, it becomes several rows of the encoded split.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retort.data.encoded import Flat
from retort.data.formats import Broken, Row, formats, lines
from retort.errors import RetortError

Tokenise = Callable[[list[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Question:
    """A question, its context and its answers.

    Args:
        id: the id of the question in the data set.
        text: the question.
        context: the text that holds the answer.
        answers: (text, first character in the context) of each answer; empty where there is no answer.
        normalisation: the rule by which answers are compared, by its name in scoring/qa.py.
    """

    id: str
    text: str
    context: str
    answers: tuple[tuple[str, int], ...]
    normalisation: str


@formats.register("squad")
def squad(path: Path, broken: Broken, *, leave_out: list[str] | None = None) -> Iterator[Row]:
    """Yield the questions of a file in the JSON format of SQuAD 1.1, SQuAD 2.0 and MLQA, plain or gzip.

    The columns are those of the hub's copies: id, title, context, question, answers {text, answer_start}, and
    is_impossible where the file has it.

    Args:
        path: the file.
        broken: not called: the first error in such a file is raised, as it has no separate lines to skip.
        leave_out: ids of questions to skip, for a file with questions that cannot be used.

    Raises:
        RetortError: a required key is missing or its value has the wrong type (the message says where), or
            `leave_out` names a question that the file does not hold.
    """
    out, seen = set(leave_out or ()), set()
    for i, article in enumerate(_get(path, "", _content(path), "data", list)):
        for j, paragraph in enumerate(_get(path, f"data[{i}]", article, "paragraphs", list)):
            place = f"data[{i}].paragraphs[{j}]"
            shared = {"title": article.get("title"), "context": _get(path, place, paragraph, "context", str)}
            for k, asked in enumerate(_get(path, place, paragraph, "qas", list)):
                row = _question(path, f"{place}.qas[{k}]", asked)
                seen.add(row["id"])
                if row["id"] not in out:
                    yield f"question {row['id']} ({place}.qas[{k}])", shared | row
    if out - seen:
        raise RetortError(f"{path.name}: leave_out: there is no question {min(out - seen)}", "take it out of the list")


def _question(path: Path, place: str, asked: Any) -> dict[str, Any]:
    """Return the columns of a question, without those it shares with its paragraph (title, context)."""
    name = _get(path, place, asked, "id", str)
    at = f"question {name} ({place})"
    row = {"id": name, "question": _get(path, at, asked, "question", str)}
    if "answers" in asked:
        answers = _get(path, at, asked, "answers", list)
        row["answers"] = {
            "text": [_get(path, at, answer, "text", str) for answer in answers],
            "answer_start": [_get(path, at, answer, "answer_start", int) for answer in answers],
        }
    if "is_impossible" in asked:
        row["is_impossible"] = _get(path, at, asked, "is_impossible", bool)
    return row


_KINDS = {list: "a list", str: "a text", int: "a whole number", bool: "true or false"}


def _get(path: Path, place: str, node: Any, key: str, kind: type) -> Any:
    """Return the value of a key of a JSON object; raise an error if it is missing or of another type than `kind`."""
    where = f"{path.name}, {place}: " if place else f"{path.name}: "
    if not isinstance(node, dict) or key not in node:
        raise RetortError(f"{where}no '{key}'", "the file does not have SQuAD's form")
    if type(node[key]) is not kind:
        raise RetortError(f"{where}'{key}' is not {_KINDS[kind]}", "the file does not have SQuAD's form")
    return node[key]


def _content(path: Path) -> Any:
    """Return the parsed JSON of a file, plain or gzip.

    Raises:
        RetortError: the file is cut short, not UTF-8 or not JSON.
    """
    try:
        return json.loads("\n".join(text for _, text in lines(path)))
    except json.JSONDecodeError as error:
        raise RetortError(f"{path.name}:{error.lineno}: not valid JSON ({error.msg})", "is it cut short?") from error


class Window(NamedTuple):
    """The input ids and token type ids of one row, special tokens included."""

    ids: list[int]
    type_ids: list[int]


class _Template:
    """The special tokens that a tokenizer puts around and between the two texts of a pair."""

    def __init__(self, tokenise: Tokenise) -> None:
        row = next(iter(tokenise([("a", "a")])))  # e.g. [CLS] a [SEP] a [SEP]
        ids, types, texts = np.array(row.ids), np.array(row.type_ids), row.sequence_ids
        first, last = texts.index(0), len(texts) - texts[::-1].index(1)  # where text 0 begins, text 1 ends (exclusive)
        middle = slice(len(texts) - texts[::-1].index(0), texts.index(1))
        self.places = [slice(0, first), middle, slice(last, len(texts))]
        self.ids = [ids[place] for place in self.places]
        self.types = [types[place] for place in self.places]
        self.question_type, self.context_type = types[first], types[last - 1]
        self.tokens = sum(map(len, self.ids))  # number of special tokens in a row

    def row(self, question: np.ndarray, context: np.ndarray) -> Window:
        """Return one window, encoded as the tokenizer would encode the pair."""
        ids = [self.ids[0], question, self.ids[1], context, self.ids[2]]
        own = np.full(len(question), self.question_type), np.full(len(context), self.context_type)
        types = [self.types[0], own[0], self.types[1], own[1], self.types[2]]
        return Window(np.concatenate(ids).tolist(), np.concatenate(types).tolist())

    def start(self, question: np.ndarray) -> int:
        """Return the position of the first token of the context in a window of the question."""
        return len(self.ids[0]) + len(question) + len(self.ids[1])

    def spread(self, values: np.ndarray, start: int) -> list[int]:
        """Return one value per token of the window: `values` for the context, which begins at `start`, else -1."""
        return [-1] * start + values.tolist() + [-1] * len(self.ids[2])


@dataclass(frozen=True)
class _Tokens:
    """The tokens of one text, without special tokens, (tokens,) each: input ids and characters [start, end)."""

    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def _tokens(row: Any) -> _Tokens:
    own = np.array([sequence is not None for sequence in row.sequence_ids], bool)  # False at special tokens
    spans = np.array(row.offsets, np.int32).reshape(-1, 2)[own]  # (tokens, 2): [start, end) in characters
    return _Tokens(np.array(row.ids, np.int32)[own], spans[:, 0], spans[:, 1])


def windows(
    questions: list[Question], tokenise: Tokenise, length: int, overlap: int, longest: int
) -> dict[str, np.ndarray]:
    """Return the windows of all questions as arrays, row after row, with the arrays that map tokens back to the text.

    - `ids`, `types`, `offsets`: as for every task (see `Flat`).
    - `labels` (windows, 2): positions of the first and last token of the first answer; both 0, the [CLS] token, where
      the window does not hold the whole answer.
    - `question` (windows,): the number of the question that the window belongs to.
    - `starts`, `ends` (tokens,): the characters [start, end) of the context that each token covers; -1 for tokens
      outside the context.
    - `text`: the contexts and questions, as `texts` reads them.

    Args:
        questions: the questions, in order.
        tokenise: turns texts or pairs of texts into encodings, without truncation.
        length: the maximum number of tokens of a window.
        overlap: the number of context tokens that a window shares with the next one.
        longest: the maximum number of tokens of a question; the rest is cut off.

    Raises:
        RetortError: a question leaves too little room for its context.
    """
    template, flat = _Template(tokenise), Flat()
    labels, owner, starts, ends = array("q"), array("i"), array("i"), array("i")
    for number, (question, ids, context) in enumerate(_tokenised(questions, tokenise, longest)):
        first = template.start(ids)
        answer = _answer_tokens(context, question.answers)
        for part in _parts(len(context.ids), length - template.tokens - len(ids), overlap, question.id):
            flat.add(template.row(ids, context.ids[part]))
            owner.append(number)
            starts.extend(template.spread(context.starts[part], first))
            ends.extend(template.spread(context.ends[part], first))
            held = part.start <= answer[0] <= answer[1] < part.stop  # False for (0, -1), no answer
            labels.extend(first + place - part.start if held else 0 for place in answer)  # context -> window position
    more = {"question": owner, "starts": starts, "ends": ends}
    return {
        **flat.arrays(),
        **{name: np.frombuffer(values, np.int32) for name, values in more.items()},
        "labels": np.frombuffer(labels, np.int64).reshape(-1, 2),
        "text": _packed(questions),
    }


def _tokenised(
    questions: list[Question], tokenise: Tokenise, longest: int
) -> Iterator[tuple[Question, np.ndarray, _Tokens]]:
    """Yield (question, its first `longest` input ids, tokens of its context); each context is tokenised only once."""
    contexts = list(dict.fromkeys(question.context for question in questions))
    known = dict(zip(contexts, map(_tokens, tokenise(contexts)), strict=True))
    asked = map(_tokens, tokenise([question.text for question in questions]))
    for question, tokens in zip(questions, asked, strict=True):
        yield question, tokens.ids[:longest], known[question.context]


def _parts(tokens: int, room: int, overlap: int, name: str) -> Iterator[slice]:
    """Yield the slices of a context of `tokens` tokens for its windows; each holds at most `room` tokens."""
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


def _packed(questions: list[Question]) -> np.ndarray:
    """Return contexts and questions as UTF-8 JSON, (bytes,) uint8; each context is stored once."""
    contexts = list(dict.fromkeys(question.context for question in questions))
    numbers = {context: number for number, context in enumerate(contexts)}
    asked = [
        {
            "id": question.id,
            "context": numbers[question.context],
            "answers": [text for text, _ in question.answers],
            "normalisation": question.normalisation,
        }
        for question in questions
    ]
    return np.frombuffer(json.dumps({"contexts": contexts, "questions": asked}, ensure_ascii=False).encode(), np.uint8)


def texts(packed: np.ndarray) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the contexts and questions of a split; a question has id, context (its number), answers, normalisation."""
    content = json.loads(packed.tobytes())
    return content["contexts"], content["questions"]
