"""Make the files of the tiny study: rated sentences and a random encoder."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

STUDY = Path(__file__).parent / "study"
GLAD, SAD = ["glad", "good", "warm", "bright"], ["sad", "bad", "cold", "dim"]
OTHERS = ["day", "house", "song", "road", "friend", "meal", "town", "week", "letter", "garden"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def sentences(count: int = 160) -> list[str]:
    """Return the lines of a rated-text file; the words of a line determine its rating."""
    draw = random.Random("tiny sentences")
    lines = []
    for number in range(count):
        words = [
            draw.choice(GLAD + SAD) if draw.random() < 0.5 else draw.choice(OTHERS) for _ in range(draw.randint(3, 9))
        ]
        rating = sum(word in GLAD for word in words) - sum(word in SAD for word in words)
        lines.append(f"{number // 4}_{number % 4}\t{rating}\t{' '.join(words)}")
    return lines


def make_texts(folder: Path) -> None:
    """Write rated.txt to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rated.txt").write_text("\n".join(sentences()) + "\n", encoding="latin-1")


def make_encoder(folder: Path, **shape: int) -> None:
    """Save a random BERT with a word-level vocabulary in the folder, as from_pretrained expects it."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    folder.mkdir(parents=True, exist_ok=True)
    words = [*SPECIAL, *GLAD, *SAD, *OTHERS]
    words += [f"word{number}" for number in range(90 - len(words))]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    sizes = {"num_hidden_layers": 4, "num_attention_heads": 3, "hidden_size": 24, "intermediate_size": 48, **shape}
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(words), max_position_embeddings=32, initializer_range=0.2, **sizes)
    BertModel(config).save_pretrained(folder)


def make_family(folder: Path, family: str, **shape: int) -> None:
    """Save a random encoder of a family in the folder, with a tokenizer of that family's type."""
    import torch
    from transformers import AutoModel

    if family in ("bert", "electra"):
        make_encoder(folder, **shape)  # both have BERT's tokenizer
    else:
        _make_sentence_tokenizer(folder, family)
    torch.manual_seed(0)
    AutoModel.from_config(family_config(family, **shape)).save_pretrained(folder)


def family_config(family: str, **shape: int) -> Any:
    """Return the configuration of a tiny encoder of a family: 4 layers, 3 heads of size 7, at most 32 tokens."""
    from transformers import AutoConfig

    sizes = {"num_hidden_layers": 4, "num_attention_heads": 3, "hidden_size": 21, "intermediate_size": 50}
    own: dict[str, Any] = {"vocab_size": 90, "max_position_embeddings": 32, "type_vocab_size": 2}
    if family in ("roberta", "xlm-roberta"):  # as published: positions start at 2, one token type id
        own = {"vocab_size": 300, "max_position_embeddings": 34, "type_vocab_size": 1}
    if family == "electra":
        own["embedding_size"] = 21
    return AutoConfig.for_model(family, initializer_range=0.2, **{**sizes, **own, **shape})


def _make_sentence_tokenizer(folder: Path, family: str) -> None:
    """Save byte pairs (RoBERTa) or pieces (XLM-R): <s> is 0, <pad> 1, </s> 2, <unk> 3, <mask> the last."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    folder.mkdir(parents=True, exist_ok=True)
    options: Any = {"vocab_size": 299, "special_tokens": ["<s>", "<pad>", "</s>", "<unk>"], "show_progress": False}
    if family == "roberta":
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer: Any = trainers.BpeTrainer(initial_alphabet=alphabet, **options)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(unk_token="<unk>", **options)
    tokenizer.train_from_iterator([line.split("\t")[2] for line in sentences()], trainer)
    tokenizer.add_special_tokens(["<mask>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"bos": "<s>", "cls": "<s>", "pad": "<pad>", "eos": "</s>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
    about = {f"{name}_token": token for name, token in names.items()}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))  # as published: no tokenizer_class


def make_study(folder: Path, **config: Any) -> Path:
    """Write a copy of the study, its files and a config.yaml for it to the folder; return the folder."""
    shutil.copytree(STUDY, folder / "study")
    make_texts(folder / "texts")
    make_encoder(folder / "encoder")
    settings = {"papers": ["tiny"], "scale": "pocket", "precision": "float32", "study": str(folder / "study"), **config}
    (folder / "config.yaml").write_text(json.dumps(settings))
    return folder
