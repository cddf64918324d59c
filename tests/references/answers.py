"""Slow, obvious scorers of extractive question answering, and predictions that are wrong in many ways."""

from __future__ import annotations

import random
import re
import string
import unicodedata
from collections.abc import Sequence

ARTICLES = {
    "de": "ein eine einen einem eines einer der die das den dem des",
    "en": "a an the",
    "es": "un una unos unas el la los las",
    "hi": "",
    "vi": "của là cái chiếc những",
    "zh": "",
}


def normalise(text: str, name: str) -> str:
    """Return an answer as SQuAD ('squad') or MLQA ('mlqa-de') compares it, built character by character."""
    language = name.partition("-")[2]
    kept = ""
    for character in text.lower():
        mark = unicodedata.category(character).startswith("P") if language else False
        if not (mark or character in string.punctuation):
            kept += character
    if language == "ar":
        kept = kept.replace("ال", " ")
    else:
        for article in sorted(ARTICLES[language or "en"].split(), key=len, reverse=True):
            kept = re.sub(rf"\b{article}\b", " ", kept)
    if language == "zh":
        kept = "".join(f" {c} " if "\u4e00" <= c <= "\u9fa5" else c for c in kept)
    return " ".join(kept.split())


def f1(predicted: str, true: str) -> float:
    """Return the F1 over the words of two normalised texts; each word matches at most one word of the other text."""
    left, right, same = predicted.split(), true.split(), 0
    rest = list(right)
    for word in left:
        if word in rest:
            rest.remove(word)
            same += 1
    if same == 0:
        return 0.0
    return 2 * (same / len(left)) * (same / len(right)) / (same / len(left) + same / len(right))


def squad(predicted: Sequence[str], true: Sequence[Sequence[str]], name: str) -> dict[str, float]:
    """Return the exact match and F1 in percent, computed question by question."""
    exact = shared = 0.0
    for text, answers in zip(predicted, true, strict=True):
        exact += max(normalise(text, name) == normalise(answer, name) for answer in answers)
        shared += max(f1(normalise(text, name), normalise(answer, name)) for answer in answers)
    return {"exact": 100.0 * exact / len(true), "f1": 100.0 * shared / len(true)}


def squad2_at(
    predicted: Sequence[str], true: Sequence[Sequence[str]], differences: Sequence[float], threshold: float
) -> dict[str, float]:
    """Return SQuAD 2.0's exact match and F1 in percent at one threshold, computed question by question."""
    exact = shared = 0.0
    for text, answers, difference in zip(predicted, true, differences, strict=True):
        said = "" if difference > threshold else normalise(text, "squad")
        known = [normalise(answer, "squad") for answer in answers] or [""]
        exact += max(said == answer for answer in known)
        shared += max(f1(said, answer) if said and answer else float(said == answer) for answer in known)
    return {"exact": 100.0 * exact / len(true), "f1": 100.0 * shared / len(true)}


def noisy(contexts: Sequence[str], true: Sequence[Sequence[str]], seed: int) -> list[str]:
    """Return a prediction per question: right, with other punctuation and case, too long, too short, wrong, or none."""
    draw, found = random.Random(seed), []
    for context, answers in zip(contexts, true, strict=True):
        answer, words = (draw.choice(answers) if answers else ""), context.split()
        kind, at = draw.random(), draw.randrange(len(words))
        if kind < 0.35:
            found.append(answer)
        elif kind < 0.5:
            found.append(" ".join(words[at : at + draw.randint(1, 6)]))
        elif kind < 0.65:
            found.append(" ".join([answer, *words[at : at + 2]]))
        elif kind < 0.75:
            found.append(f"The {answer.upper()}.")
        elif kind < 0.85:
            found.append(answer[: max(1, len(answer) // 2)])
        else:
            found.append(", the" if kind < 0.9 else "")
    return found


def noisy_differences(true: Sequence[Sequence[str]], seed: int) -> list[float]:
    """Return, for each question, the score of 'no answer' minus that of the prediction; higher if it has no answer."""
    draw = random.Random(seed)
    return [round(draw.gauss(0.0 if answers else 1.5, 2.0), 3) for answers in true]
