"""A context with questions, and tokenizers of three families that are trained on it."""

from __future__ import annotations

from retort.tasks.windows import Question
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CONTEXT = "The old ferry starts in Oban at noon. It runs twice a day, and é costs nothing; nobody knows why it is free."


def wordpiece() -> Tokenizer:
    """Return a tokenizer of BERT's type."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted({c for c in CONTEXT.lower() if c.isalnum()}), "##e", "##r"]
    words += ["the", "old", "ferry", "starts", "in", "oban", "at", "noon", "it", "runs", "twice", "day", ".", ",", ";"]
    found = Tokenizer(models.WordPiece({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    found.normalizer = normalizers.BertNormalizer()
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    found.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return found


def byte_pairs() -> Tokenizer:
    """Return a tokenizer of RoBERTa's type: byte pairs, two separators between the texts, one token type id."""
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    found.train_from_iterator([CONTEXT], trainer)
    found.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), add_prefix_space=False)
    return found


def sentence_pieces() -> Tokenizer:
    """Return a tokenizer of XLM-R's type: sentence pieces, two separators between the texts."""
    found = Tokenizer(models.Unigram())
    found.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    trainer = trainers.UnigramTrainer(
        vocab_size=60, special_tokens=["<s>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    found.train_from_iterator([CONTEXT] * 5, trainer)
    found.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return found


FAMILIES = {"wordpiece": wordpiece, "byte pairs": byte_pairs, "sentence pieces": sentence_pieces}
QUESTIONS = [
    Question("a", "Where does the old ferry start?", CONTEXT, (("Oban", 24), ("in Oban", 21)), "squad"),
    Question("b", "How often?", CONTEXT, (("twice a day", 46),), "squad"),
    Question("c", "What is free?", CONTEXT, (("é", 63),), "squad"),
    Question("d", "Who sleeps?", "Nobody knows.", (), "squad"),
]
