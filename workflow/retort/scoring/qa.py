"""Extractive question answering, scored as the scripts of SQuAD 1.1, SQuAD 2.0 and MLQA score it, in percent.

Sums run from left to right, as in those scripts, so that numbers agree to the last bit.
"""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from retort.registry import Registry

Normalise = Callable[[str], str]
Answers = Sequence[Sequence[str]]  # the true answers of each question

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
    return float(100.0 * np.cumsum(scores)[-1] / len(scores)) if len(scores) else float("nan")


def _each(
    predicted: Sequence[str], true: Answers, normalised: Sequence[str], f1: Callable[[list[str], list[str]], float]
) -> tuple[np.ndarray, np.ndarray]:
    """Exact match and F1 of every question, (questions,) each: the best over its answers."""
    exact, shared = np.zeros(len(true)), np.zeros(len(true))
    for row, (text, answers, name) in enumerate(zip(predicted, true, normalised, strict=True)):
        normalise = normalisations[name]
        said, known = normalise(text), [normalise(answer) for answer in answers]
        exact[row] = said in known
        words = said.split()
        shared[row] = max(f1(words, answer.split()) for answer in known)
    return exact, shared


def squad(predicted: Sequence[str], true: Answers, normalised: Sequence[str]) -> dict[str, float]:
    """Exact match and F1 in percent, as SQuAD 1.1 and MLQA define them.

    Args:
        predicted: the text that is said to answer each question.
        true: the answers of each question, at least one.
        normalised: the name of the normalisation that each question is compared by.
    """
    exact, f1 = _each(predicted, true, normalised, word_f1)
    return {"exact": _percent(exact), "f1": _percent(f1)}


def squad2(
    predicted: Sequence[str], true: Answers, differences: Sequence[float], threshold: float = 0.0
) -> dict[str, float]:
    """Exact match and F1 in percent, as SQuAD 2.0 defines them, and the thresholds that would have been best.

    `exact` and `f1` over all questions, `...-answered` and `...-unanswered` over those that have an answer and that
    have none (NaN where there are no such questions), `best-...` at the threshold that is best on these very questions,
    and that `...-threshold`.

    Args:
        predicted: the best text for each question that is not empty; the threshold decides whether it is said.
        true: the answers of each question, none where it has no answer.
        differences: for each question the score of 'no answer' less that of the predicted text.
        threshold: 'no answer' is said where the difference is larger.
    """
    normalise = normalisations["squad"]
    known = [[text for text in texts if normalise(text)] or [""] for texts in true]
    has_answer = np.array([bool(texts) for texts in true])
    said = np.array([bool(text) for text in predicted])
    difference = np.array(differences, dtype=np.float64)
    found, best = {}, {}
    both = _each(predicted, known, ["squad"] * len(known), word_f1_or_both_empty)
    for metric, raw in zip(("exact", "f1"), both, strict=True):
        scores = np.where(difference > threshold, ~has_answer, raw)
        found[metric] = _percent(scores)
        found[f"{metric}-answered"] = _percent(scores[has_answer])
        found[f"{metric}-unanswered"] = _percent(scores[~has_answer])
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
