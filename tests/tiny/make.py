"""Makes the files of the tiny study on the spot: rated sentences and a random encoder."""

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
    """Lines of a rated-text file: the rating follows from the words."""
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
    """Nothing; the folder holds rated.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rated.txt").write_text("\n".join(sentences()) + "\n", encoding="latin-1")


def make_encoder(folder: Path, **shape: int) -> None:
    """Nothing; the folder holds a random BERT with a word-level vocabulary, as from_pretrained expects it."""
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


def make_study(folder: Path, **config: Any) -> Path:
    """The folder, with a copy of the study, its files, and a config.yaml that names it."""
    shutil.copytree(STUDY, folder / "study")
    make_texts(folder / "texts")
    make_encoder(folder / "encoder")
    settings = {"papers": ["tiny"], "scale": "pocket", "precision": "float32", "study": str(folder / "study"), **config}
    (folder / "config.yaml").write_text(json.dumps(settings))
    return folder
