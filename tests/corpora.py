"""Corpora for tests, built in one process."""

from __future__ import annotations

from pathlib import Path

from retort.data.blocks import Blocks
from retort.data.corpora import build_corpus
from retort.data.corpus_parts import tokenize_part
from retort.data.corpus_texts import CorpusTexts
from retort.settings.inputs import CorpusSettings


def build_blocks(folder: Path, texts: Path, encoder: Path, settings: CorpusSettings, parts: int = 1) -> Blocks:
    """Build a corpus in `folder`/to, from parts that stay in `folder`/1, `folder`/2, ..., and return its blocks."""
    corpus_texts = CorpusTexts.open(settings, {"texts": texts}, encoder)
    folders = [folder / f"{part}" for part in range(1, parts + 1)]
    for part, own in enumerate(folders, start=1):
        tokenize_part(corpus_texts, (part, parts), own, folder / "state")
        assert not (folder / "state").exists()
    build_corpus(corpus_texts, folders, folder / "to")
    return Blocks(folder / "to")
