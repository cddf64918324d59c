"""Extractive question answering: SQuAD's JSON format, and the windows that a context is cut into.

A question is one example; where its context is longer than a window, it becomes several rows of the encoded split.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retort.data.formats import Broken, Row, formats, lines
from retort.data.tasks import Flat
from retort.errors import RetortError

Tokenise = Callable[[list[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Question:
    """A question, the context that is searched, and its answers.

    Args:
        id: as the data set names it.
        text: the question.
        context: the text in which the answer stands.
        answers: (text, where it starts in the context, in characters) each; none where there is no answer.
        normalisation: how its answers are compared, by its name in scoring/qa.py.
    """

    id: str
    text: str
    context: str
    answers: tuple[tuple[str, int], ...]
    normalisation: str


@formats.register("squad")
def squad(path: Path, broken: Broken, *, leave_out: list[str] | None = None) -> Iterator[Row]:
    """Questions of a file in the JSON of SQuAD 1.1, SQuAD 2.0 and MLQA, plain or gzip.

    Columns are those of the hub's copies: id, title, context, question, answers {text, answer_start}, and is_impossible
    where the file has it.

    Args:
        path: the file.
        broken: not called: a file of this form is right as a whole or not at all.
        leave_out: ids of questions that are not read, for a file with questions that cannot be used.

    Raises:
        RetortError: what the format asks for is missing or of another kind; the message holds its place.
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
    """What a question says of itself, without its context."""
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
    """The value of a key of a JSON object; an error where it is missing or of another kind."""
    where = f"{path.name}, {place}: " if place else f"{path.name}: "
    if not isinstance(node, dict) or key not in node:
        raise RetortError(f"{where}no '{key}'", "the file does not have SQuAD's form")
    if type(node[key]) is not kind:
        raise RetortError(f"{where}'{key}' is not {_KINDS[kind]}", "the file does not have SQuAD's form")
    return node[key]


def _content(path: Path) -> Any:
    """The JSON of a file, plain or gzip.

    Raises:
        RetortError: the file is cut short, not UTF-8 or not JSON.
    """
    try:
        return json.loads("\n".join(text for _, text in lines(path)))
    except json.JSONDecodeError as error:
        raise RetortError(f"{path.name}:{error.lineno}: not valid JSON ({error.msg})", "is it cut short?") from error


class Window(NamedTuple):
    """The tokens of one row."""

    ids: list[int]
    type_ids: list[int]


class _Template:
    """The special tokens that a tokenizer puts around and between the two texts of a pair."""

    def __init__(self, tokenise: Tokenise) -> None:
        row = next(iter(tokenise([("a", "a")])))
        ids, types, texts = np.array(row.ids), np.array(row.type_ids), row.sequence_ids
        first, last = texts.index(0), len(texts) - texts[::-1].index(1)
        middle = slice(len(texts) - texts[::-1].index(0), texts.index(1))
        self.places = [slice(0, first), middle, slice(last, len(texts))]
        self.ids = [ids[place] for place in self.places]
        self.types = [types[place] for place in self.places]
        self.question_type, self.context_type = types[first], types[last - 1]
        self.tokens = sum(map(len, self.ids))  # that are neither question nor context

    def row(self, question: np.ndarray, context: np.ndarray) -> Window:
        """One window, as a tokenizer would encode it."""
        ids = [self.ids[0], question, self.ids[1], context, self.ids[2]]
        own = np.full(len(question), self.question_type), np.full(len(context), self.context_type)
        types = [self.types[0], own[0], self.types[1], own[1], self.types[2]]
        return Window(np.concatenate(ids).tolist(), np.concatenate(types).tolist())

    def start(self, question: np.ndarray) -> int:
        """Where the context begins in the window of a question."""
        return len(self.ids[0]) + len(question) + len(self.ids[1])

    def spread(self, values: np.ndarray, start: int) -> list[int]:
        """What stands at the context's tokens, which begin at `start`, and -1 at all other tokens of the window."""
        return [-1] * start + values.tolist() + [-1] * len(self.ids[2])


@dataclass(frozen=True)
class _Tokens:
    """The tokens of one text, without special ones: their ids, and the characters that each covers."""

    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def _tokens(row: Any) -> _Tokens:
    own = np.array([sequence is not None for sequence in row.sequence_ids], bool)
    spans = np.array(row.offsets, np.int32).reshape(-1, 2)[own]
    return _Tokens(np.array(row.ids, np.int32)[own], spans[:, 0], spans[:, 1])


def windows(
    questions: list[Question], tokenise: Tokenise, length: int, overlap: int, longest: int
) -> dict[str, np.ndarray]:
    """Every window of every question, row after row, with the arrays that lead from tokens back to the text.

    `ids`, `types` and `offsets` as for any task; `labels` (windows, 2): the first and the last token of the first
    answer, or 0 and 0, the [CLS] token, where the window does not hold it whole; `question` (windows,): whose window it
    is; `starts` and `ends`, as long as `ids`: the characters of the context that a token covers, -1 where it is none of
    the context's; `text`: what `texts` reads.

    Args:
        questions: in order.
        tokenise: from texts or pairs to their encodings, which are not truncated.
        length: tokens that a window has at most.
        overlap: tokens of the context that a window has in common with the next one.
        longest: tokens of a question that are kept.

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
            held = part.start <= answer[0] <= answer[1] < part.stop
            labels.extend(first + place - part.start if held else 0 for place in answer)
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
    """Each question, the tokens of it that are kept, and those of its context, which is tokenised once."""
    contexts = list(dict.fromkeys(question.context for question in questions))
    known = dict(zip(contexts, map(_tokens, tokenise(contexts)), strict=True))
    asked = map(_tokens, tokenise([question.text for question in questions]))
    for question, tokens in zip(questions, asked, strict=True):
        yield question, tokens.ids[:longest], known[question.context]


def _parts(tokens: int, room: int, overlap: int, name: str) -> Iterator[slice]:
    """The parts of a context of so many tokens that its windows show, the last one up to its end."""
    if room <= overlap:
        raise RetortError(
            f"question {name}: {room} tokens of its context fit into a window, and windows overlap by {overlap}",
            "raise max_length, or lower windows.overlap or windows.question",
        )
    for start in range(0, max(tokens - overlap, 1), room - overlap):
        yield slice(start, min(start + room, tokens))


def _answer_tokens(context: _Tokens, answers: tuple[tuple[str, int], ...]) -> tuple[int, int]:
    """The first and the last token of a context that overlap its first answer; (0, -1) where there is none."""
    if not answers:
        return 0, -1
    text, start = answers[0]
    held = np.flatnonzero((context.ends > start) & (context.starts < start + len(text)))
    return (int(held[0]), int(held[-1])) if len(held) else (0, -1)


def _packed(questions: list[Question]) -> np.ndarray:
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
    """The contexts of a split, and its questions: id, number of its context, texts of its answers, normalisation."""
    content = json.loads(packed.tobytes())
    return content["contexts"], content["questions"]
