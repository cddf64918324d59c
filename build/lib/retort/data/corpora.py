"""Corpora: the tokenised documents of all parts are packed into blocks, which are written as one data set.

Memory holds one shard of tokens, whatever the size of the texts. Blocks stand in the order of their documents: a
training draws its own order for each epoch.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import numpy as np

from retort.data.blocks import CorpusInfo, write_blocks
from retort.data.corpus_parts import chosen_documents, shards_of
from retort.data.corpus_texts import CorpusTexts, Seen, divide_blocks
from retort.data.tokenizers import token_dtype


def build_corpus(texts: CorpusTexts, parts: list[Path], output: Path) -> int:
    """Pack the tokenised parts of a corpus, write it to `output` and return its number of blocks.

    Args:
        texts: the texts of the corpus and the tokenizer.
        parts: the folders of the parts.
        output: the folder to fill.

    Raises:
        RetortError: a component has too little text for its share.
    """
    settings, special, shares, quotas = texts.settings, texts.tokenizer.special, texts.shares, texts.quotas
    available = None
    if shares and settings.blocks is None:  # the component with the least text for its share decides
        packed = (_component_blocks(texts, parts, number, None) for number in range(len(quotas)))
        available = [sum(map(len, blocks)) for blocks in packed]
        quotas = divide_blocks(available, shares, None, texts.names)
    counts: list[dict[str, int]] = []
    blocks = _all_blocks(texts, parts, quotas, counts)
    digests = write_blocks(output, blocks, settings.block, token_dtype(texts.tokenizer.vocabulary))
    used = [count.pop("blocks") for count in counts]
    if available is None:
        divide_blocks(used, shares, settings.blocks, texts.names)  # raises an error if there is too little text
    CorpusInfo(
        blocks=sum(used),
        mask=special.mask,
        pad=special.pad,
        special=special.never_masked,
        vocabulary=texts.tokenizer.vocabulary,
        components=[
            {"source": each.source, "language": each.language, **count, "blocks_made": blocks_made, "blocks": taken}
            for each, count, blocks_made, taken in zip(
                settings.components, counts, available or used, used, strict=True
            )
        ],
        sha256=digests,
    ).write(output)
    return sum(used)


def _all_blocks(
    texts: CorpusTexts, parts: list[Path], quotas: Sequence[int | None], counts: list[dict[str, int]]
) -> Iterator[np.ndarray]:
    """Yield the blocks of all components; add the counts of each component to `counts` after its last block."""
    for number, quota in enumerate(quotas):
        counts.append((yield from _component_blocks(texts, parts, number, quota)))


def _component_blocks(
    texts: CorpusTexts, parts: list[Path], number: int, quota: int | None
) -> Generator[np.ndarray, None, dict[str, int]]:
    """Yield arrays (blocks, block) of a component, and return its counts.

    Args:
        texts: the texts of the corpus and the tokenizer.
        parts: the folders of the parts.
        number: the number of the component.
        quota: the number of blocks that are needed; None for all that the text fills.
    """
    packer, seen, made, whole, rows = texts.packer(), Seen(), 0, 0, []
    for shard in shards_of(parts, number):
        chosen = chosen_documents(shard, seen, texts.settings.components[number])
        rows.append(np.stack([whole + shard.read, chosen, shard.characters]))  # (3, documents)
        whole += shard.consumed if shard.is_last else 0
        packed = packer.add(shard.documents.select(chosen))
        if quota is not None and made + len(packed.blocks) >= quota:
            needed = quota - made
            yield packed.blocks[:needed]
            kept = int(packed.documents[needed - 1]) if needed else 0
            return {**_counts(rows, kept), "blocks": quota}
        made += len(packed.blocks)
        yield packed.blocks
    packed = packer.end()
    yield packed.blocks
    return {**_counts(rows, None, whole), "blocks": made + len(packed.blocks)}


def _counts(rows: list[np.ndarray], kept: int | None, whole: int = 0) -> dict[str, int]:
    """Return the counts of a component up to the last document that is packed.

    Args:
        rows: (3, documents) of each shard: documents read up to this one, whether it was chosen, its characters.
        kept: the number of documents that are packed; None for all.
        whole: the number of documents that were read, if all are packed.
    """
    read, chosen, characters = np.concatenate([np.zeros((3, 0), np.int64), *rows], axis=1)
    end = len(read) if kept is None else int(np.searchsorted(np.cumsum(chosen), kept)) + 1 if kept else 0
    packed = int(chosen[:end].sum())
    documents = whole if kept is None else int(read[end - 1]) if end else 0
    return {
        "documents": documents,
        "kept": packed,
        "short": documents - end,
        "duplicates": end - packed,
        "characters": int((characters * chosen)[:end].sum()),
    }
