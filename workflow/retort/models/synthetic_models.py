"""Models with random weights, in the released form of each family, and tokenizers of exactly their vocabulary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoConfig, AutoModel, AutoModelForPreTraining

from retort.data.sources.synthetic_files import known_words, made_letters
from retort.specs.model import SIZES, MadeModel, first_position

BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>"]  # and <mask>, which is the last of all
NAMES = {"bos": "<s>", "cls": "<s>", "pad": "<pad>", "eos": "</s>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}

WORD, UNUSED = -4.0, -20.0  # log-probabilities of Unigram tokens

# Standard deviation of the initial weights, also of heads and of students that start at random. It is ten times the
# usual one, so that narrow untrained models answer differently on different rows, and scores of two seeds differ.
INITIALIZER_RANGE = 0.2


def write_model(folder: Path, made: MadeModel, seed: int) -> None:
    """Write config.json, model.safetensors and, if the model has its own tokenizer, tokenizer.json to a folder."""
    torch.manual_seed(seed)
    with_head = made.masked_lm or made.family == "distilbert"  # released DistilBERTs always have the head
    auto_class: Any = AutoModelForPreTraining if with_head else AutoModel
    place = 1 if made.family == "distilbert" else 0  # of a family's own key among those of a size
    further = OF_ROBERTA if "roberta" in made.family else {"pad_token_id": 0}
    config = AutoConfig.for_model(
        made.family,
        vocab_size=made.vocabulary,
        max_position_embeddings=made.positions + first_position({"model_type": made.family, **further}),
        initializer_range=INITIALIZER_RANGE,
        **{SIZES[size][place]: getattr(made.architecture, size) for size in SHAPE},
        **further,
    )
    auto_class.from_config(config).save_pretrained(str(folder), safe_serialization=True)
    if made.tokenizer:
        write_tokenizer(folder, made.family, made.vocabulary)


def write_tokenizer(folder: Path, family: str, vocabulary: int) -> None:
    """Write tokenizer.json and tokenizer_config.json of a family to a folder."""
    FAMILIES[family](vocabulary).save(str(folder / "tokenizer.json"))
    named = {f"{name}_token": token for name, token in NAMES.items()}
    named = named if "roberta" in family else {f"{token[1:-1].lower()}_token": token for token in BERT}
    (folder / "tokenizer_config.json").write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")


def _fill_up(tokens: list[str], vocabulary: int) -> list[str]:
    """Return the tokens, each once, filled up with unused ones to the size of a vocabulary."""
    tokens = list(dict.fromkeys(tokens))
    if len(tokens) > vocabulary:
        raise ValueError(f"{len(tokens)} tokens for a vocabulary of {vocabulary}")
    return tokens + [f"[unused{number}]" for number in range(vocabulary - len(tokens))]


def _word_piece(vocabulary: int) -> Tokenizer:
    """Return a WordPiece tokenizer: whole English words, and all letters at the start of and inside a word."""
    tokens = _fill_up(
        [*BERT, *made_letters(), *(f"##{letter}" for letter in made_letters()), *known_words()], vocabulary
    )
    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(BERT)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", BERT.index("[SEP]")), ("[CLS]", BERT.index("[CLS]")))
    return tokenizer


def _byte_pairs(vocabulary: int) -> Tokenizer:
    """Return a byte-level BPE tokenizer, which merges the letters of English words from left to right."""
    merges: dict[tuple[str, str], None] = {}
    for word in known_words():
        for end in range(1, len(word) + 1):
            merges["Ġ" + word[: end - 1], word[end - 1]] = None
    tokens = [*ROBERTA, *sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges)]
    numbers = {token: number for number, token in enumerate([*_fill_up(tokens, vocabulary - 1), "<mask>"])}
    tokenizer = Tokenizer(models.BPE(numbers, list(merges), unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return _with_specials(tokenizer)


def _unigram(vocabulary: int) -> Tokenizer:
    """Return a Unigram tokenizer: whole English words, and all letters."""
    tokens = [*ROBERTA, "▁", *made_letters(), *(f"▁{word}" for word in known_words())]
    # a word is likelier than its letters together, and an unused token is never chosen
    scored = [(token, WORD if token in tokens else UNUSED) for token in [*_fill_up(tokens, vocabulary - 1), "<mask>"]]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=ROBERTA.index("<unk>")))
    words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(words)
    return _with_specials(tokenizer)


def _with_specials(tokenizer: Tokenizer) -> Tokenizer:
    """Add RoBERTa's special tokens, also around every text; return the tokenizer."""
    tokenizer.add_special_tokens([*ROBERTA, "<mask>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


SHAPE = ("layers", "heads", "hidden", "intermediate")  # sizes that every family's config has
OF_ROBERTA = {"type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
FAMILIES = {  # -> makes a tokenizer with a number of tokens
    "bert": _word_piece,
    "roberta": _byte_pairs,
    "xlm-roberta": _unigram,
    "distilbert": _word_piece,
}
