"""Extractive question answering, scored as the scripts of SQuAD 1.1, SQuAD 2.0 and MLQA score it, in percent.

Sums run from left to right, as in those scripts, so that numbers agree to the last bit.
"""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from retort.errors import RetortError
from retort.registry import Registry

Normalise = Callable[[str], str]
Answers = Mapping[str, Sequence[str]]  # every question's id to its true answers; none where it has no answer

normalisations: Registry[Normalise] = Registry("answer normalisation")

# The articles that MLQA takes out, as regular expressions. Its Arabic one takes the letters out wherever they stand.
ARTICLES = {
    "ar": "ال",
    "de": r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "en": r"\b(a|an|the)\b",
    "es": r"\b(un|una|unos|unas|el|la|los|las)\b",
    "hi": None,
    "vi": r"\b(của|là|cái|chiếc|những)\b",
    "zh": None,
}
IDEOGRAPH = re.compile("([\u4e00-\u9fa5])")


def _normalisation(language: str, punctuation: str, apart: bool = False) -> Normalise:
    """A function that folds an answer: lower case, without punctuation and articles, single spaces.

    Args:
        language: whose articles are taken out.
        punctuation: the characters that are taken out.
        apart: every ideograph is a word of its own.
    """
    gone = dict.fromkeys(map(ord, punctuation))
    articles = re.compile(ARTICLES[language] or "(?!)")  # (?!) matches nothing

    def normalise(text: str) -> str:
        text = articles.sub(" ", text.lower().translate(gone))
        return " ".join((IDEOGRAPH.sub(r" \1 ", text) if apart else text).split())

    return normalise


def _every_punctuation() -> str:
    marks = (c for c in map(chr, range(sys.maxunicode)) if unicodedata.category(c).startswith("P"))
    return "".join(marks) + string.punctuation


PUNCTUATION = _every_punctuation()
normalisations.register("squad")(_normalisation("en", string.punctuation))
for _language in ARTICLES:
    normalisations.register(f"mlqa-{_language}")(_normalisation(_language, PUNCTUATION, apart=_language == "zh"))


def word_f1(predicted: list[str], true: list[str]) -> float:
    """The harmonic mean of precision and recall over words; 0 where they share none."""
    same = (Counter(predicted) & Counter(true)).total()
    if not same:
        return 0.0
    precision, recall = same / len(predicted), same / len(true)
    return 2 * precision * recall / (precision + recall)


def word_f1_or_both_empty(predicted: list[str], true: list[str]) -> float:
    """As `word_f1`, and 1 where both are empty: SQuAD 2.0, where 'no answer' is an answer."""
    return word_f1(predicted, true) if predicted and true else float(predicted == true)


def _percent(scores: np.ndarray) -> float:
    return float(100.0 * np.cumsum(scores)[-1] / len(scores))


def _each(
    predictions: Mapping[str, str],
    answers: Answers,
    normalise: Normalise,
    f1: Callable[[list[str], list[str]], float],
) -> tuple[np.ndarray, np.ndarray]:
    """Exact match and F1 of every question, (questions,) each, in the order of `answers`: the best over its answers.

    Raises:
        RetortError: a question has no prediction, or there is none to score.
    """
    missing = [name for name in answers if name not in predictions]
    if missing or not answers:
        raise RetortError(
            f"{len(missing)} of {len(answers)} questions have no prediction: {', '.join(missing[:3]) or '-'}",
            "every question of the split takes one, an empty text for 'no answer'",
        )
    exact, shared = np.zeros(len(answers)), np.zeros(len(answers))
    for row, (name, texts) in enumerate(answers.items()):
        said, true = normalise(predictions[name]), [normalise(text) for text in texts]
        exact[row] = said in true
        words = said.split()
        shared[row] = max(f1(words, text.split()) for text in true)
    return exact, shared


def squad(predictions: Mapping[str, str], answers: Answers, normalise: Normalise) -> dict[str, float]:
    """Exact match and F1 in percent, as SQuAD 1.1 and MLQA define them.

    Args:
        predictions: every question's id to the predicted text.
        answers: every question's id to its true answers, at least one.
        normalise: an entry of `normalisations`.

    Raises:
        RetortError: a question has no prediction.
    """
    exact, f1 = _each(predictions, answers, normalise, word_f1)
    return {"exact": _percent(exact), "f1": _percent(f1)}


def squad2(
    predictions: Mapping[str, str], answers: Answers, differences: Mapping[str, float], threshold: float = 0.0
) -> dict[str, float]:
    """Exact match and F1 in percent, as SQuAD 2.0 defines them, and the thresholds that would have been best.

    `exact` and `f1` over all questions, `...-answered` and `...-unanswered` over those that have an answer and that
    have none (left out where there are no such questions), `best-...` at the threshold that is best on these very
    questions, and that `...-threshold`.

    Args:
        predictions: every question's id to the best text that is not empty; the threshold decides what becomes of it.
        answers: every question's id to its true answers, none where it has no answer.
        differences: every question's id to the score of 'no answer' less that of the predicted text.
        threshold: 'no answer' is said where the difference is larger.

    Raises:
        RetortError: a question has no prediction.
    """
    normalise = normalisations["squad"]
    known = {name: [text for text in texts if normalise(text)] or [""] for name, texts in answers.items()}
    has_answer = np.array([bool(texts) for texts in answers.values()])
    said = np.array([bool(predictions.get(name)) for name in answers])
    difference = np.array([differences[name] for name in answers], dtype=np.float64)
    found, best = {}, {}
    for metric, raw in zip(("exact", "f1"), _each(predictions, known, normalise, word_f1_or_both_empty), strict=True):
        scores = np.where(difference > threshold, ~has_answer, raw)
        found[metric] = _percent(scores)
        for part, chosen in (("answered", has_answer), ("unanswered", ~has_answer)):
            if chosen.any():
                found[f"{metric}-{part}"] = _percent(scores[chosen])
        best[f"best-{metric}"], best[f"best-{metric}-threshold"] = _best(raw, said, has_answer, difference)
    return {**found, **best}


def _best(raw: np.ndarray, said: np.ndarray, has_answer: np.ndarray, difference: np.ndarray) -> tuple[float, float]:
    """The best score in percent over all thresholds, and the lowest threshold that reaches it (0 for 'never answer').

    Below every difference, 'no answer' is said to all: each question without an answer counts 1. As the threshold
    rises past a question's difference, its prediction is said: that adds its score, or takes that 1 away.
    """
    order = np.argsort(difference, kind="stable")
    gains = np.where(has_answer, raw, -said.astype(np.float64))[order]
    totals = np.cumsum(np.concatenate([[float((~has_answer).sum())], gains]))
    place = int(totals.argmax())
    return float(100.0 * totals[place] / len(raw)), float(difference[order[place - 1]]) if place else 0.0
