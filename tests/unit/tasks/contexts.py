"""A context with questions, and tokenizers of three families that are trained on it."""

from __future__ import annotations

from retort.tasks.windows import Question
from tokenizers import Tokenizer

from tests.tiny.make import train_tokenizer

CONTEXT = "The old ferry starts in Oban at noon. It runs twice a day, and é costs nothing; nobody knows why it is free."


FAMILIES = ["bert", "roberta", "xlm-roberta"]


def tokenizer_of(family: str) -> Tokenizer:
    """Return a tokenizer of a family's type that is trained on the context."""
    return train_tokenizer(family, [CONTEXT] * 5, 300 if family == "roberta" else 60)  # 256 bytes, or characters


QUESTIONS = [
    Question("a", "Where does the old ferry start?", CONTEXT, (("Oban", 24), ("in Oban", 21)), "squad"),
    Question("b", "How often?", CONTEXT, (("twice a day", 46),), "squad"),
    Question("c", "What is free?", CONTEXT, (("é", 63),), "squad"),
    Question("d", "Who sleeps?", "Nobody knows.", (), "squad"),
]
