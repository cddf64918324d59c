"""The sections of a corpus's files, which jobs share out, and how many blocks each component of the corpus gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from retort.data import mixing
from retort.data.texts import Section, sections
from retort.errors import RetortError
from retort.settings import CorpusSettings
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
        section: the bytes.
    """

    number: int
    component: int
    section: Section


def sections_of(corpus: CorpusSettings, files: list[list[Path]]) -> list[NumberedSection]:
    """Return the sections of the files of all components, in order."""
    every = [
        (number, section)
        for number, component in enumerate(corpus.components)
        for path in files[number]
        for section in sections(path, component.format)
    ]
    return [NumberedSection(index, number, section) for index, (number, section) in enumerate(every)]


def sections_of_part(every: list[NumberedSection], part: int, parts: int) -> list[NumberedSection]:
    """Return the sections of a part, a run of about equal size; parts count from 1.

    A section belongs to the part in which its middle byte lies.
    """
    sizes = np.array([each.section.size for each in every], np.float64)
    middles = np.cumsum(sizes) - sizes / 2
    owners = np.minimum(middles * parts / max(sizes.sum(), 1), parts - 1).astype(int)  # (sections,), from 0
    return [each for each, owner in zip(every, owners, strict=True) if owner == part - 1]


def quotas_of(corpus: CorpusSettings, files: list[list[Path]]) -> Sequence[int | None]:
    """Return the number of blocks that each component must give; None where all its text is read."""
    shares = shares_of(corpus, files)
    return mixing.apportioned(corpus.blocks, shares) if shares and corpus.blocks else [None] * len(files)


def shares_of(corpus: CorpusSettings, files: list[list[Path]]) -> list[float] | None:
    """Return the share of each component: its own, else smoothed from file sizes; None to take all the text."""
    shares = [component.share for component in corpus.components if component.share is not None]
    if shares:  # every component has a share, or none has
        return shares
    if corpus.blocks is None:
        return None
    return mixing.smoothed([sum(path.stat().st_size for path in own) for own in files], corpus.smoothing)
