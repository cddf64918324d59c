"""Slow packers: a token after another, as the packings are described."""

from __future__ import annotations

from collections.abc import Callable

from retort.data.tokenizers import Special

Document = list[list[int]]  # the input ids of each text


def continuous(documents: list[Document], block: int, special: Special) -> list[list[int]]:
    """Return blocks "[CLS] document [SEP] document ...", cut wherever a block is full; the last tokens are dropped."""
    stream = [token for document in documents for token in [*(t for text in document for t in text), special.end]]
    room = block - 1
    return [[special.start, *stream[at : at + room]] for at in range(0, len(stream) - room + 1, room)]


def sentences(documents: list[Document], block: int, special: Special) -> list[list[int]]:
    """Return blocks of as many whole sentences as fit, padded, with a separator between documents."""
    blocks: list[list[int]] = []
    held: list[int] = []

    def close() -> None:
        while held and held[-1] == special.end:
            held.pop()
        if held:
            row = [special.start, *held, special.end]
            blocks.append(row + [special.pad] * (block - len(row)))
        held.clear()

    for document in documents:
        if held:
            held.append(special.end)
        for sentence in document:
            for start in range(0, len(sentence), block - 2):
                piece = sentence[start : start + block - 2]
                if len(held) + len(piece) > block - 2:
                    close()
                held.extend(piece)
    close()
    return blocks


REFERENCES: dict[str, Callable[[list[Document], int, Special], list[list[int]]]] = {
    "continuous": continuous,
    "sentences": sentences,
}
