"""The texts of a corpus: its files, the sections that its jobs share, and how much each component gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from retort.data.files import sha256
from retort.data.packing import Packer, packers
from retort.data.text_tokenizer import CorpusTokenizer
from retort.data.texts import Section, sections
from retort.errors import RetortError
from retort.settings.inputs import CorpusSettings
from retort.specs.corpus import Component


def files_of(component: Component, folder: Path) -> list[Path]:
    """Return the files of a component of a corpus, in the order of the patterns, then of their names.

    Raises:
        RetortError: a pattern matches no file.
    """
    matched_files: dict[Path, None] = {}
    for pattern in component.files:
        matched = [path for path in sorted(folder.glob(pattern)) if path.is_file()]
        if not matched:
            known = sorted(str(path.relative_to(folder)) for path in folder.rglob("[!.]*") if path.is_file())
            more = ", ..." if len(known) > 8 else ""
            raise RetortError(
                f"source {component.source} holds no file {pattern}",
                f"it holds {', '.join(known[:8]) or 'nothing'}{more}",
            )
        matched_files.update(dict.fromkeys(matched))
    return list(matched_files)


@dataclass(frozen=True)
class NumberedSection:
    """A section of a file of a corpus.

    Args:
        number: its number among the sections of all components, from 0.
        component: the number of its component, from 0.
        section: the file, and the bytes of it.
    """

    number: int
    component: int
    section: Section


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

    def sections_of_part(self, part: int, parts: int) -> list[NumberedSection]:
        """Return the sections of a part; parts count from 1, and are runs of sections of about equal size.

        A section belongs to the part that holds its middle byte.
        """
        every = [
            (number, section)
            for number, component in enumerate(self.settings.components)
            for path in self.files[number]
            for section in sections(path, component.format)
        ]
        sizes = np.array([section.size for _, section in every], np.float64)  # (sections,)
        middles = np.cumsum(sizes) - sizes / 2
        owners = np.minimum(middles * parts / max(sizes.sum(), 1), parts - 1).astype(int)  # (sections,), from 0
        return [
            NumberedSection(index, number, section)
            for index, (number, section) in enumerate(every)
            if owners[index] == part - 1
        ]


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
