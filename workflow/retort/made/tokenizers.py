"""Make tokenizers of each family, with exactly as many tokens as a model's vocabulary."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retort.made.lexicon import known_words, letters
from retort.registry import Registry

BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>"]  # and <mask>, which is the last of all
NAMES = {"bos": "<s>", "cls": "<s>", "pad": "<pad>", "eos": "</s>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}

WORD, UNUSED = -4.0, -20.0  # log-probabilities of Unigram tokens

makers: Registry[Callable[[int], Any]] = Registry("family of made tokenizers")


def write_tokenizer(folder: Path, family: str, vocabulary: int) -> None:
    """Write tokenizer.json and tokenizer_config.json of a family to a folder."""
    makers[family](vocabulary).save(str(folder / "tokenizer.json"))
    named = {f"{name}_token": token for name, token in NAMES.items()}
    named = named if "roberta" in family else {f"{token[1:-1].lower()}_token": token for token in BERT}
    (folder / "tokenizer_config.json").write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")


def _fill_up(tokens: list[str], vocabulary: int) -> list[str]:
    """Return the tokens, each once, filled up with unused ones to the size of a vocabulary."""
    tokens = list(dict.fromkeys(tokens))
    if len(tokens) > vocabulary:
        raise ValueError(f"{len(tokens)} tokens for a vocabulary of {vocabulary}")
    return tokens + [f"[unused{number}]" for number in range(vocabulary - len(tokens))]


@makers.register("bert")
@makers.register("distilbert")
def word_pieces(vocabulary: int) -> Any:
    """Return a WordPiece tokenizer: whole English words, and all letters at the start of and inside a word."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokens = _fill_up([*BERT, *letters(), *(f"##{letter}" for letter in letters()), *known_words()], vocabulary)
    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(BERT)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", BERT.index("[SEP]")), ("[CLS]", BERT.index("[CLS]")))
    return tokenizer


@makers.register("roberta")
def byte_pairs(vocabulary: int) -> Any:
    """Return a byte-level BPE tokenizer, which merges the letters of English words from left to right."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    merges: dict[tuple[str, str], None] = {}
    for word in known_words():
        for end in range(1, len(word) + 1):
            merges["Ġ" + word[: end - 1], word[end - 1]] = None
    tokens = [*ROBERTA, *sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges)]
    numbers = {token: number for number, token in enumerate([*_fill_up(tokens, vocabulary - 1), "<mask>"])}
    tokenizer = Tokenizer(models.BPE(numbers, list(merges), unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return _add_specials(tokenizer)


@makers.register("xlm-roberta")
def pieces(vocabulary: int) -> Any:
    """Return a Unigram tokenizer: whole English words, and all letters."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokens = [*ROBERTA, "▁", *letters(), *(f"▁{word}" for word in known_words())]
    # a word is likelier than its letters together, and an unused token is never chosen
    scored = [(token, WORD if token in tokens else UNUSED) for token in [*_fill_up(tokens, vocabulary - 1), "<mask>"]]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=ROBERTA.index("<unk>")))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return _add_specials(tokenizer)


def _add_specials(tokenizer: Any) -> Any:
    """Add RoBERTa's special tokens, also around every text; return the tokenizer."""
    from tokenizers import processors

    tokenizer.add_special_tokens([*ROBERTA, "<mask>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer
