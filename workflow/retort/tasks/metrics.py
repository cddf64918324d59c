"""Metrics in numpy, by the names that tables use.

The tests compare them with scikit-learn and scipy. These are not imported here, because each job would pay for the
import as much as for ten training steps of a small student.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from retort.registry import Registry

Metric = Callable[[np.ndarray, np.ndarray], float]  # (predicted, true), (rows,) each

metrics: Registry[Metric] = Registry("metric")


def _confusion(predicted: np.ndarray, true: np.ndarray) -> tuple[int, int, int, int]:
    """Count (true positives, false positives, false negatives, true negatives) of class 1."""
    yes, predicted_yes = true == 1, predicted == 1
    return (
        int((yes & predicted_yes).sum()),
        int((~yes & predicted_yes).sum()),
        int((yes & ~predicted_yes).sum()),
        int((~yes & ~predicted_yes).sum()),
    )


@metrics.register("accuracy", of="classification", limits={"ge": 0.0, "le": 1.0})
def accuracy(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return the accuracy: the fraction of rows predicted correctly."""
    return float((predicted == true).mean())


def _counts(predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Count, for each class, rows that are rightly predicted, that are predicted, and that have it: (3, classes)."""
    size = int(max(predicted.max(), true.max())) + 1
    return np.array([np.bincount(of, minlength=size) for of in (true[predicted == true], predicted, true)])


@metrics.register("balanced-accuracy", of="classification", limits={"ge": 0.0, "le": 1.0})
def balanced_accuracy(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return the mean over the true classes of the fraction of their rows that are predicted correctly."""
    right, _, rows = _counts(predicted, true)
    return float((right[rows > 0] / rows[rows > 0]).mean())


@metrics.register("macro-f1", of="classification", limits={"ge": 0.0, "le": 1.0})
def macro_f1(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return the mean over classes of their F1; classes that are neither true nor predicted do not count."""
    right, said, rows = _counts(predicted, true)
    either = said + rows
    return float((2 * right[either > 0] / either[either > 0]).mean())


@metrics.register("f1", of="classification", limits={"ge": 0.0, "le": 1.0})
def f1(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return the F1 of class 1; 0 without a true positive."""
    tp, fp, fn, _ = _confusion(predicted, true)
    return 2 * tp / (2 * tp + fp + fn) if tp else 0.0


@metrics.register("matthews", of="classification", limits={"ge": -1.0, "le": 1.0})
def matthews(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return Matthews' correlation of two classes; 0 where predictions or labels are all of one class.

    MCC = (TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN)).
    """
    tp, fp, fn, tn = _confusion(predicted, true)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / float(product) ** 0.5 if product else 0.0


@metrics.register("pearson", of="regression", limits={"ge": -1.0, "le": 1.0})
def pearson(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return Pearson's correlation; 0 if predictions or labels are constant, where it is not defined."""
    if np.ptp(predicted) == 0 or np.ptp(true) == 0:
        return 0.0
    return float(np.corrcoef(predicted.astype(np.float64), true.astype(np.float64))[0, 1])


def ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1; equal values get the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)  # (distinct values,), the highest rank of each
    shared: np.ndarray = (last - (counts - 1) / 2)[inverse]  # mean of the ranks last - counts + 1 to last
    return shared


@metrics.register("spearman", of="regression", limits={"ge": -1.0, "le": 1.0})
def spearman(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return Spearman's rank correlation; 0 if predictions or labels are constant, where it is not defined."""
    return pearson(ranks(predicted), ranks(true))


@metrics.register("neg-mean-squared-error", of="regression", limits={"le": 0.0})
def neg_mean_squared_error(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return the mean squared error times -1, as scikit-learn's scorer of this name: of all metrics, more is better."""
    return -float(np.square(predicted.astype(np.float64) - true).mean())


# Scores of extractive question answering, in percent, as the scripts of SQuAD 1.1, SQuAD 2.0 and MLQA compute them.
#
# Sums run from left to right, as in those scripts, so that the numbers agree to the last bit.


Normalise = Callable[[str], str]
Answers = Sequence[Sequence[str]]  # the true answers of each question

normalisations: Registry[Normalise] = Registry("answer normalisation")

# The articles that MLQA removes, as regular expressions. Its Arabic one removes the letters inside words too.
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


class Removed(dict[int, int | None]):
    """A table for `str.translate` that removes ASCII punctuation, and with `every` all punctuation of Unicode.

    A character is classified when it is first met: a scan of all of Unicode would delay the start of every job.
    """

    def __init__(self, every: bool) -> None:
        super().__init__(dict.fromkeys(map(ord, string.punctuation)))
        self._every = every

    def __missing__(self, code: int) -> int | None:
        """Return None for a character of the punctuation categories (P*) that is to be removed, else its code."""
        is_removed = self._every and unicodedata.category(chr(code)).startswith("P")
        self[code] = None if is_removed else code
        return self[code]


def _normalisation(language: str, removed: Removed, split_ideographs: bool = False) -> Normalise:
    """Return a function that normalises an answer: lower case, no punctuation, no articles, single spaces.

    Args:
        language: the language whose articles are removed.
        removed: the characters that are removed.
        split_ideographs: True makes every ideograph a separate word.
    """
    articles = re.compile(ARTICLES[language] or "(?!)")  # (?!) matches nothing

    def normalise(text: str) -> str:
        text = articles.sub(" ", text.lower().translate(removed))
        return " ".join((IDEOGRAPH.sub(r" \1 ", text) if split_ideographs else text).split())

    return normalise


PUNCTUATION = Removed(every=True)
normalisations.register("squad")(_normalisation("en", Removed(every=False)))
for _language in ARTICLES:
    normalisations.register(f"mlqa-{_language}")(
        _normalisation(_language, PUNCTUATION, split_ideographs=_language == "zh")
    )


def word_f1(predicted: list[str], true: list[str]) -> float:
    """Return the F1 over words, the harmonic mean of precision and recall; 0 if no word is common to both."""
    same = (Counter(predicted) & Counter(true)).total()  # words in common, with multiplicity
    if not same:
        return 0.0
    precision, recall = same / len(predicted), same / len(true)
    return 2 * precision * recall / (precision + recall)  # 2 P R / (P + R)


def word_f1_or_both_empty(predicted: list[str], true: list[str]) -> float:
    """Return `word_f1`, but 1 if both are empty: in SQuAD 2.0 'no answer' can be right."""
    return word_f1(predicted, true) if predicted and true else float(predicted == true)


def _mean_percent(scores: np.ndarray) -> float:
    """Return the mean in percent; NaN for no scores."""
    # cumsum adds from left to right, np.sum in pairs
    return float(100.0 * np.cumsum(scores)[-1] / len(scores)) if len(scores) else float("nan")


def _score_questions(
    predicted: Sequence[str], true: Answers, normalised: Sequence[str], f1: Callable[[list[str], list[str]], float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return exact match and F1 of every question, (questions,) each: the best over its true answers."""
    exact, shared = np.zeros(len(true)), np.zeros(len(true))
    for row, (text, answers, name) in enumerate(zip(predicted, true, normalised, strict=True)):
        normalise = normalisations[name]
        answer, true_answers = normalise(text), [normalise(each) for each in answers]
        exact[row] = answer in true_answers
        answer_words = answer.split()
        shared[row] = max(f1(answer_words, each.split()) for each in true_answers)
    return exact, shared


def squad(predicted: Sequence[str], true: Answers, normalised: Sequence[str]) -> dict[str, float]:
    """Return exact match and F1 in percent, as SQuAD 1.1 and MLQA define them.

    Args:
        predicted: the predicted answer to each question.
        true: the true answers of each question, at least one.
        normalised: the name of the normalisation for each question.
    """
    exact, f1 = _score_questions(predicted, true, normalised, word_f1)
    return {"exact": _mean_percent(exact), "f1": _mean_percent(f1)}


def squad2(
    predicted: Sequence[str], true: Answers, differences: Sequence[float], threshold: float = 0.0
) -> dict[str, float]:
    """Return exact match and F1 in percent, as SQuAD 2.0 defines them, and the thresholds that are best on this data.

    - `exact`, `f1`: over all questions.
    - `...-answered`, `...-unanswered`: over the questions with and without an answer (NaN if there are none).
    - `best-...`: at the threshold that is best on these same questions; `best-...-threshold` is that threshold.

    Args:
        predicted: the best span for each question; the threshold decides between it and 'no answer'.
        true: the true answers of each question; empty where it has no answer.
        differences: the score of 'no answer' minus the score of the predicted text, for each question.
        threshold: the prediction is 'no answer' if the difference is larger than this.
    """
    normalise = normalisations["squad"]
    known = [[text for text in texts if normalise(text)] or [""] for texts in true]
    has_answer = np.array([bool(texts) for texts in true])
    not_empty = np.array([bool(text) for text in predicted])
    difference = np.array(differences, dtype=np.float64)
    percentages, best = {}, {}
    both = _score_questions(predicted, known, ["squad"] * len(known), word_f1_or_both_empty)
    for metric, raw in zip(("exact", "f1"), both, strict=True):
        scores = np.where(difference > threshold, ~has_answer, raw)  # (questions,)
        percentages[metric] = _mean_percent(scores)
        percentages[f"{metric}-answered"] = _mean_percent(scores[has_answer])
        percentages[f"{metric}-unanswered"] = _mean_percent(scores[~has_answer])
        best[f"best-{metric}"], best[f"best-{metric}-threshold"] = _best_threshold(
            raw, not_empty, has_answer, difference
        )
    return {**percentages, **best}


def _best_threshold(
    raw: np.ndarray, not_empty: np.ndarray, has_answer: np.ndarray, difference: np.ndarray
) -> tuple[float, float]:
    """Return the best score in percent over all thresholds, and the lowest threshold with it (0 for 'never answer').

    At a threshold below every difference, all predictions are 'no answer': each question without an answer counts 1.
    When the threshold rises to a question's difference, the predicted text counts instead: this adds its score where
    the question has an answer, and removes the 1 where it has none (unless the text is empty).

    Args:
        raw: (questions,) score of each predicted text.
        not_empty: (questions,) True where the predicted text is not empty.
        has_answer: (questions,) True where the question has an answer.
        difference: (questions,) score of 'no answer' minus the score of the predicted text.
    """
    order = np.argsort(difference, kind="stable")
    gains = np.where(has_answer, raw, -not_empty.astype(np.float64))[order]  # (questions,)
    # totals[k], (questions + 1,): the text counts for the k questions with the smallest differences
    totals = np.cumsum(np.concatenate([[float((~has_answer).sum())], gains]))
    best = int(totals.argmax())
    return float(100.0 * totals[best] / len(raw)), float(difference[order[best - 1]]) if best else 0.0
