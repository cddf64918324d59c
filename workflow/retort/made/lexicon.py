"""The words of made texts: for each language a few words in its script, and signs, which decide labels."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass

LATIN = "aeiodlmnrst"
SCRIPTS = {
    "ar": "ابتدرسعلمن",
    "ur": "ابتدرسعلمن",
    "bg": "абдеиклмно",
    "ru": "абдеиклмно",
    "el": "αβδεικλμνο",
    "hi": "कगचजतदनपमर",
    "th": "กขคงจดตนมร",
    "zh": "一中人大小上下水火山",
}
UNSPACED = ("th", "zh")  # languages that put no space between words
SENTENCE_ENDS = {"hi": "।", "zh": "。", "ur": "۔"}
WORDS = 24  # words of a language that mean nothing
SIGNS = 8  # words of a language that decide labels


@dataclass(frozen=True)
class Lexicon:
    """The words of a language.

    Args:
        words: words that mean nothing.
        signs: words that decide a label or an answer.
        space: the text between two words.
        end: the full stop.
    """

    words: tuple[str, ...]
    signs: tuple[str, ...]
    space: str
    end: str

    def sentence(self, draw: random.Random, count: int) -> list[str]:
        """Draw words that mean nothing."""
        return [draw.choice(self.words) for _ in range(count)]

    def text(self, words: list[str]) -> str:
        """Return words as one text, without a full stop."""
        return self.space.join(words)


def lexicon(language: str) -> Lexicon:
    """Return the words of a language, in Latin letters unless `SCRIPTS` has its script.

    They depend only on the language, so that training and test sets of every seed share them.
    """
    draw, letters = random.Random(f"words of {language}"), SCRIPTS.get(language, LATIN)
    words: dict[str, None] = {}
    while len(words) < WORDS + SIGNS:
        words["".join(draw.choice(letters) for _ in range(draw.randint(2, 4)))] = None
    space = "" if language in UNSPACED else " "
    return Lexicon(tuple(words)[SIGNS:], tuple(words)[:SIGNS], space, SENTENCE_ENDS.get(language, "."))


def letters() -> list[str]:
    """Return all letters and marks of made texts, and those of ids and prompts (a-z, 0-9, '.,?'), sorted."""
    made = {letter for script in (LATIN, *SCRIPTS.values()) for letter in script}
    return sorted(made | set(SENTENCE_ENDS.values()) | set(string.ascii_lowercase + string.digits + ".,?"))


def known_words() -> list[str]:
    """Return the words of English texts: each is a token of its own in made tokenizers."""
    english = lexicon("en")
    return [*english.signs, *english.words]
