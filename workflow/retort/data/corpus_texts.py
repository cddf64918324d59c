"""The texts of a corpus: files, sections that jobs share, how much each component gives, and how they are cleaned."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from retort.checksums import sha256
from retort.data.corpus_tokenizer import CorpusTokenizer
from retort.data.packing import Packer, packers
from retort.data.texts import Section, file_sections
from retort.errors import RetortError
from retort.settings.inputs import CorpusSettings
from retort.specs.corpus import Component


def files_of(component: Component, folder: Path) -> list[Path]:
    """Return the files of a component of a corpus, in the order of the patterns, then of their names.

    Raises:
        RetortError: a pattern matches no file, or only empty ones.
    """
    matched_files: dict[Path, None] = {}
    for pattern in component.files:
        matched = [path for path in sorted(folder.glob(pattern)) if path.is_file()]
        if not matched:
            known = sorted(str(path.relative_to(folder)) for path in folder.rglob("[!.]*") if path.is_file())
            listed = ", ".join([*known[:8], *["..."] * (len(known) > 8)])
            raise RetortError(f"source {component.source} holds no file {pattern}", f"it holds {listed or 'nothing'}")
        if not any(path.stat().st_size for path in matched):
            hint = f"give the whole text, or leave {pattern} out of the corpus's 'files'"
            raise RetortError(f"source {component.source}: {pattern} is empty", hint)
        matched_files.update(dict.fromkeys(matched))
    return list(matched_files)


@dataclass(frozen=True)
class CorpusTexts:
    """The texts of a corpus and the tokenizer: what tokenising its parts and packing them have in common.

    Args:
        settings: the corpus's settings.
        files: the files of each component.
        tokenizer: the tokenizer.
        tokenizer_digest: the SHA-256 digest of the tokenizer's file.
    """

    settings: CorpusSettings
    files: list[list[Path]]
    tokenizer: CorpusTokenizer
    tokenizer_digest: str

    @classmethod
    def open(cls, settings: CorpusSettings, sources: dict[str, Path], tokenizer_folder: Path) -> CorpusTexts:
        """Find the files and load the tokenizer.

        Args:
            settings: the corpus's settings.
            sources: the folder of each source.
            tokenizer_folder: the folder with the files of the tokenizer.

        Raises:
            RetortError: a component has no files.
        """
        return cls(
            settings=settings,
            files=[files_of(component, sources[component.source]) for component in settings.components],
            tokenizer=CorpusTokenizer.load(tokenizer_folder),
            tokenizer_digest=sha256(tokenizer_folder / "tokenizer.json"),
        )

    @property
    def names(self) -> list[str]:
        """The name of each component, for messages."""
        return [f"{number}-{component.language}" for number, component in enumerate(self.settings.components)]

    @property
    def shares(self) -> list[float] | None:
        """The share of each component: its own, else smoothed from file sizes; None to take all the text."""
        shares = [component.share for component in self.settings.components if component.share is not None]
        if shares:  # every component has a share, or none has
            return shares
        if self.settings.blocks is None:
            return None
        sizes = [sum(path.stat().st_size for path in own) for own in self.files]
        return smooth(sizes, self.settings.smoothing)

    @property
    def quotas(self) -> Sequence[int | None]:
        """The number of blocks that each component must give; None where all its text is read."""
        shares, blocks = self.shares, self.settings.blocks
        return apportion(blocks, shares) if shares and blocks else [None] * len(self.files)

    def packer(self) -> Packer:
        """Return a new packer of the corpus's blocks."""
        return packers[self.settings.packing](self.settings.block, self.tokenizer.special)

    def sections_of_part(self, part: int, parts: int) -> list[tuple[int, int, Section]]:
        """Return (number of the section, number of its component, section) for each section of a part.

        Parts count from 1, and are runs of sections of about equal size; a section belongs to the part that holds its
        middle byte.
        """
        every = [
            (number, section)
            for number, component in enumerate(self.settings.components)
            for path in self.files[number]
            for section in file_sections(path, component.format)
        ]
        sizes = np.array([section.size for _, section in every], np.float64)  # (sections,)
        middles = np.cumsum(sizes) - sizes / 2
        owners = np.minimum(middles * parts / max(sizes.sum(), 1), parts - 1).astype(int)  # (sections,), from 0
        return [(index, *each) for index, each in enumerate(every) if owners[index] == part - 1]


def apportion(total: int, shares: Sequence[float]) -> list[int]:
    """Divide `total` blocks by shares: round down, then give the rest to the largest remainders, one block each."""
    exact = [total * share / sum(shares) for share in shares]  # n * p_i / sum_j p_j
    counts = [int(value) for value in exact]
    # largest remainder first
    by_remainder = sorted(range(len(exact)), key=lambda component: counts[component] - exact[component])
    for component in by_remainder[: total - sum(counts)]:
        counts[component] += 1
    return counts


def smooth(sizes: Sequence[int], exponent: float) -> list[float]:
    """Return smoothed shares of sizes: p_i = s_i^a / sum_j s_j^a (Conneau and Lample, 2019, section 3.1)."""
    raised = [float(size) ** exponent for size in sizes]
    return [value / sum(raised) for value in raised]


def divide_blocks(
    made: Sequence[int], shares: Sequence[float] | None, blocks: int | None, names: Sequence[str]
) -> list[int]:
    """Return the number of blocks that the corpus takes of each component.

    Args:
        made: the number of blocks that the texts of each component fill.
        shares: the share of each component in the corpus; None takes all blocks.
        blocks: the number of blocks of the whole corpus; None takes as many as the shares allow.
        names: the names of the components, for the error.

    Raises:
        RetortError: a component has fewer blocks than its share of `blocks`, or the corpus would be empty.
    """
    allowed = min((count / share for count, share in zip(made, shares, strict=True)), default=0) if shares else 0
    # 1e-9: a quotient that rounding put just below a whole number still counts as that number
    counts = list(made) if shares is None else apportion(blocks or int(allowed + 1e-9), shares)
    for name, count, available in zip(names, counts, made, strict=True):
        if count > available:
            raise RetortError(
                f"component {name} fills {available} blocks, and its share is {count}",
                f"'blocks' can be at most {int(allowed)} with these texts",
            )
    if not sum(counts):
        raise RetortError(f"the texts fill {sum(made)} blocks: the corpus is empty", "give more text or shorter blocks")
    return counts


# Cleaning of documents, and the set that finds repeated ones.

# removed and not replaced by a space, as in BERT: controls other than white space, the byte order mark, U+FFFD
UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffd]+")


def clean_text(text: str) -> str:
    """Return the text in NFC (Unicode), without control characters or empty lines, with one space between words."""
    lines = unicodedata.normalize("NFC", text).split("\n")
    words = [line.split() if _is_plain(line) else UNWANTED.sub("", line).split() for line in lines]
    return "\n".join([" ".join(line) for line in words if line])


def _is_plain(line: str) -> bool:
    """Return whether a line surely has no unwanted character: controls are not printable, but U+FFFD is."""
    return line.isprintable() and "\ufffd" not in line


class Seen:
    """A set of documents that takes eight bytes for each: their digests in a few sorted arrays ("runs").

    A new run is merged with the shorter runs before it, so there are only about log2(n) runs. Among n different
    documents, two have the same digest with probability about n² / 2⁶⁵.
    """

    def __init__(self) -> None:
        self._runs: list[np.ndarray] = []

    def add(self, digests: np.ndarray) -> np.ndarray:
        """Add documents by their digests, (documents,) uint64; return (documents,) booleans: True where one is new."""
        different, first = np.unique(digests, return_index=True)  # sorted
        new = np.ones(len(different), bool)
        for run in self._runs:
            index = np.minimum(np.searchsorted(run, different), len(run) - 1)
            new &= run[index] != different
        self._merge(different[new])
        answer = np.zeros(len(digests), bool)
        answer[first[new]] = True
        return answer

    def _merge(self, run: np.ndarray) -> None:
        while self._runs and len(self._runs[-1]) <= len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        if len(run):
            self._runs.append(run)


def text_digest(text: str) -> int:
    """Return the 64-bit digest of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
