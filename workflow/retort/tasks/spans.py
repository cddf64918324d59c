"""Task types of extractive question answering: the answer is a span of the context, or there is no answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from retort.data.encoded import Encoded
from retort.data.formats import Fields
from retort.data.task_type import task_types
from retort.data.tokenizers import Tokeniser
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings
from retort.tasks import metrics as qa
from retort.tasks.windows import SpanQuestion, question_windows, stored_questions

BEST = 20  # starts, ends and answers kept, as in BERT's fine-tuning on SQuAD
LONGEST = 30  # maximum number of tokens of an answer
CHUNK = 512  # windows searched at a time
ANSWERS = ("text", "answer_start")  # keys of a label
IMPOSSIBLE = -np.inf  # the score of a span that cannot be an answer


class _Spans:
    """What both task types have in common: windows, the search for the best spans, and how answers are stored."""

    head: ClassVar[str] = "span"
    text_columns: ClassVar[tuple[str, ...]] = ("id", "question", "context")
    metrics: ClassVar[tuple[str, ...]] = ()
    unanswerable: ClassVar[bool] = False

    def outputs(self, task: TaskSettings) -> int:
        return 2  # logits of start and end

    def record(self, row: Fields, task: TaskSettings, label_names: list[str], labelled: bool) -> SpanQuestion:
        answers = _answers_of(row["label"]) if labelled else ()
        for text, start in answers:
            actual = row["context"][max(start, 0) : max(start, 0) + len(text)]
            if not text.strip():
                raise RetortError("an answer is empty")
            if start < 0 or actual != text:
                raise RetortError(
                    f"answer {text[:40]!r} does not stand at character {start} of its context, where {actual[:40]!r} is"
                )
        if labelled and not answers and not self.unanswerable:
            raise RetortError("no answer", "only tasks of type 'span-or-none' have questions without one")
        if labelled and row.get("impossible", not answers) == bool(answers):
            raise RetortError(f"is_impossible is {str(row['impossible']).lower()}, and it has {len(answers)} answers")
        normalisation = f"mlqa-{row['subset']}" if "subset" in row else "squad"
        return SpanQuestion(row["id"], row["question"], row["context"], answers, normalisation)

    def group(self, record: SpanQuestion) -> str:
        return record.context

    def truncation(self, task: TaskSettings) -> dict[str, int]:
        return {"max_length": 10**9}  # no truncation: long contexts are cut into windows

    def encode(self, task: TaskSettings, records: Iterable[SpanQuestion], tokenise: Tokeniser) -> dict[str, pa.Table]:
        assert task.windows is not None  # retort check: a task of this type has windows
        return question_windows(list(records), tokenise, task.max_length, task.windows.overlap, task.windows.question)

    def width(self, task: TaskSettings, encoded: Encoded) -> tuple[int, ...]:
        return (int(encoded.lengths.max()), 2)  # (length of the longest window, start and end)

    def answers(self, logits: np.ndarray, encoded: Encoded) -> list[Any]:
        """Return for each question {id, text, difference, best}; None if a logit of one of its windows is not finite.

        `text` is the best span, `best` the BEST spans as [first character in the context, character after the last,
        score], and `difference` the score of 'no answer' minus the score of `text`. The score of a span is the sum of
        its start and end logits; the score of 'no answer' is this sum at [CLS], the minimum over the windows.

        Args:
            logits: (windows, length, 2) of start and end.
            encoded: the split.
        """
        contexts, questions = stored_questions(encoded)
        owner = np.asarray(encoded.more["question"])  # (windows,)
        none = np.full(len(questions), np.inf)  # (questions,)
        np.minimum.at(none, owner, logits[:, 0].astype(np.float64).sum(-1))  # min over windows of s[CLS] + e[CLS]
        best: list[dict[tuple[int, int], float]] = [{} for _ in questions]
        for number, first, last, score in _rank_spans(logits, encoded):
            if len(best[number]) < BEST:
                best[number].setdefault((first, last), score)  # a span in two windows keeps its higher score
        broken = _has_nonfinite(logits, encoded)
        lost = set(owner[broken].tolist())
        return [
            None
            if number in lost
            else _answer(question["id"], contexts[question["context"]], float(none[number]), spans)
            for number, (question, spans) in enumerate(zip(questions, best, strict=True))
        ]

    def truth(self, encoded: Encoded) -> list[Any]:
        _, questions = stored_questions(encoded)
        return [{key: question[key] for key in ("id", "answers", "normalisation")} for question in questions]


def _answers_of(label: Any) -> tuple[tuple[str, int], ...]:
    """Return the answers of a label, each with its first character, as data sets on the hub store those of SQuAD.

    Raises:
        RetortError: the label has another form.
    """
    held = label if isinstance(label, dict) else {}
    texts, starts = (list(held[key]) if isinstance(held.get(key), list | tuple) else None for key in ANSWERS)
    typed = all(isinstance(text, str) for text in texts or ()) and all(type(start) is int for start in starts or ())
    if texts is None or starts is None or len(texts) != len(starts) or not typed:
        what = f"label {str(label)[:60]!r} is not a dictionary with the lists {' and '.join(map(repr, ANSWERS))}"
        raise RetortError(what, "texts and the numbers of their first characters, of equal lengths")
    return tuple(zip(texts, starts, strict=True))


def _answer(name: str, context: str, none: float, spans: dict[tuple[int, int], float]) -> dict[str, object]:
    (first, last), score = next(iter(spans.items()), ((0, 0), none))  # without a span: text '' and difference 0
    best = [[*span, round(value, 4)] for span, value in spans.items()]
    return {"id": name, "text": context[first:last].strip(), "difference": none - score, "best": best}


def _has_nonfinite(logits: np.ndarray, encoded: Encoded) -> np.ndarray:
    """Return (windows,) booleans: True where a logit of a real token is not finite."""
    real = np.arange(logits.shape[1]) < encoded.lengths[:, None]  # (windows, length)
    broken: np.ndarray = (~np.isfinite(logits) & real[..., None]).any((1, 2))
    return broken


def _rank_spans(logits: np.ndarray, encoded: Encoded) -> Iterator[tuple[int, int, int, float]]:
    """Yield (question, first character, character after the last, score) for the best spans, question by question.

    The spans of a question come in order of falling score. In each window the BEST starts of all its tokens are paired
    with the BEST ends; a pair counts if both are tokens of the context, the end is not before the start, and the span
    has at most LONGEST tokens. The usual fine-tuning scripts search in the same way.
    """
    every = np.arange(len(logits))
    candidates = [_candidates(logits, encoded, every[at : at + CHUNK]) for at in range(0, len(logits), CHUNK)]
    window, start, end, score = (np.concatenate(columns) for columns in zip(*candidates, strict=True))
    question = np.asarray(encoded.more["question"])[window]
    first = encoded.more["starts"][encoded.offsets[window] + start]
    last = encoded.more["ends"][encoded.offsets[window] + end]
    order = np.lexsort((end, start, window, -score, question))  # by question, then -score; ties by window, start, end
    columns = (values[order].tolist() for values in (question, first, last, score))
    return zip(*columns, strict=True)


def _candidates(logits: np.ndarray, encoded: Encoded, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return (window, start token, end token, score), (spans,) each, of at most BEST spans of each window."""
    indices, real = encoded.positions(rows)  # (windows, length) each
    context = real & (encoded.more["starts"][indices] >= 0)
    # (windows, length, 2): padding must not be among the best
    finite = np.where(real[..., None], logits[rows, : indices.shape[1]].astype(np.float64), IMPOSSIBLE)
    keep = min(BEST, indices.shape[1])
    best = np.argpartition(-finite, keep - 1, axis=1)[:, :keep]  # (windows, keep, 2)
    each = np.arange(len(best))[:, None]
    starts, ends = best[..., 0], best[..., 1]  # (windows, keep) each
    score = finite[each, starts, 0][:, :, None] + finite[each, ends, 1][:, None, :]  # (windows, keep, keep), s_i + e_j
    tokens = ends[:, None, :] - starts[:, :, None] + 1  # (windows, keep, keep)
    fits = context[each, starts][:, :, None] & context[each, ends][:, None, :] & (tokens >= 1) & (tokens <= LONGEST)
    flat = np.where(fits & np.isfinite(score), score, IMPOSSIBLE).reshape(len(best), -1)  # (windows, keep * keep)
    top = np.argpartition(-flat, min(BEST, flat.shape[1]) - 1, axis=1)[:, :BEST]  # (windows, at most BEST)
    window, column = np.nonzero(flat[each, top] > IMPOSSIBLE)  # (spans,) each
    chosen = top[window, column]
    start, end = np.divmod(chosen, keep)  # column of `flat` = i * keep + j
    return rows[window], starts[window, start], ends[window, end], flat[window, chosen]


@task_types.register("span")
class Span(_Spans):
    """Questions answered by a span, scored as SQuAD 1.1; subsets of a split are the languages of MLQA."""

    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[str, ...]] = ("f1", "exact")
    has_label_names: ClassVar[bool] = False
    has_windows: ClassVar[bool] = True
    languages: ClassVar[tuple[str, ...]] = ("ar", "de", "en", "es", "hi", "vi", "zh")  # allowed as subsets of a split
    required_columns: ClassVar[tuple[str, ...]] = ("id", "question", "context", "label")
    optional_columns: ClassVar[tuple[str, ...]] = ()

    def scores(self, answers: list[Any], truth: list[Any]) -> dict[str, float]:
        """Return F1 and exact match as fractions; NaN if an answer is None."""
        if None in answers:
            return dict.fromkeys(self.metrics, float("nan"))
        predicted, true = [answer["text"] for answer in answers], [question["answers"] for question in truth]
        scores = qa.squad(predicted, true, [question["normalisation"] for question in truth])
        return {name: scores[name] / 100 for name in self.metrics}


@task_types.register("span-or-none")
class SpanOrNone(_Spans):
    """Questions answered by a span or without an answer, scored as SQuAD 2.0."""

    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[str, ...]] = (
        "f1", "exact", "f1-answered", "exact-answered", "f1-unanswered", "exact-unanswered", "best-f1", "best-exact",
        "best-f1-threshold", "best-exact-threshold",
    )  # fmt: skip
    has_label_names: ClassVar[bool] = False
    has_windows: ClassVar[bool] = True
    languages: ClassVar[tuple[str, ...]] = ()
    required_columns: ClassVar[tuple[str, ...]] = ("id", "question", "context", "label")
    optional_columns: ClassVar[tuple[str, ...]] = ("impossible",)
    unanswerable: ClassVar[bool] = True

    def scores(self, answers: list[Any], truth: list[Any]) -> dict[str, float]:
        """Return the metrics of SQuAD 2.0 as fractions, and its thresholds in logits; NaN if an answer is None."""
        if None in answers:
            return dict.fromkeys(self.metrics, float("nan"))
        predicted, true = [answer["text"] for answer in answers], [question["answers"] for question in truth]
        scores = qa.squad2(predicted, true, [answer["difference"] for answer in answers])
        return {name: scores[name] / (1 if name.endswith("threshold") else 100) for name in self.metrics}
