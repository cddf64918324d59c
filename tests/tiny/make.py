"""Make the files of the tiny study: rated sentences and a random encoder."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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

    folder.mkdir(parents=True, exist_ok=True)
    if family in ("bert", "electra"):
        make_encoder(folder, **shape)  # both have BERT's tokenizer
    else:
        tokenizer = train_tokenizer(family, [line.split("\t")[2] for line in sentences()], 299)
        tokenizer.add_special_tokens(["<mask>"])
        tokenizer.normalizer = None  # XLM-R's class keeps no other than SentencePiece's own
        tokenizer.save(str(folder / "tokenizer.json"))
        ends = {"bos": "<s>", "cls": "<s>", "pad": "<pad>", "eos": "</s>", "sep": "</s>"}
        about = {f"{name}_token": token for name, token in {**ends, "unk": "<unk>", "mask": "<mask>"}.items()}
        (folder / "tokenizer_config.json").write_text(json.dumps(about))  # as released: no tokenizer_class
    torch.manual_seed(0)
    AutoModel.from_config(family_config(family, **shape)).save_pretrained(folder)


def family_config(family: str, **shape: int) -> Any:
    """Return the configuration of a tiny encoder of a family: 4 layers, 3 heads of size 7, at most 32 tokens."""
    from transformers import AutoConfig

    sizes = {"num_hidden_layers": 4, "num_attention_heads": 3, "hidden_size": 21, "intermediate_size": 50}
    own: dict[str, Any] = {"vocab_size": 90, "max_position_embeddings": 32, "type_vocab_size": 2}
    if family in ("roberta", "xlm-roberta"):  # as released: positions start at 2, one token type id
        own = {"vocab_size": 300, "max_position_embeddings": 34, "type_vocab_size": 1}
    if family == "electra":
        own["embedding_size"] = 21
    return AutoConfig.for_model(family, initializer_range=0.2, **{**sizes, **own, **shape})


def train_tokenizer(family: str, texts: list[str], size: int) -> Tokenizer:
    """Return a tokenizer of a family's type that has learnt at most `size` tokens of texts.

    BERT's has the tokens of `SPECIAL` first, the others have <s>, <pad>, </s> and <unk>.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    special = SPECIAL if family == "bert" else ["<s>", "<pad>", "</s>", "<unk>"]
    options: Any = {"vocab_size": size, "special_tokens": special, "show_progress": False}
    if family == "bert":
        tokenizer, trainer = Tokenizer(models.WordPiece(unk_token="[UNK]")), trainers.WordPieceTrainer(**options)
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    elif family == "roberta":  # a word has other input ids at the beginning of a text; one token type id
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        tokenizer, trainer = Tokenizer(models.BPE()), trainers.BpeTrainer(initial_alphabet=alphabet, **options)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    else:
        tokenizer, trainer = Tokenizer(models.Unigram()), trainers.UnigramTrainer(unk_token="<unk>", **options)
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
        words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(words)
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
        )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def make_study(folder: Path, **config: Any) -> Path:
    """Write a copy of the study, its files and a config.yaml for it to the folder; return the folder."""
    shutil.copytree(STUDY, folder / "study")
    make_texts(folder / "texts")
    make_encoder(folder / "encoder")
    settings = {"papers": ["tiny"], "scale": "pocket", "precision": "float32", "study": str(folder / "study"), **config}
    (folder / "config.yaml").write_text(json.dumps(settings))
    return folder
