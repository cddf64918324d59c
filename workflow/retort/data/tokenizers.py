"""Tokenizers: read from a model's folder, compared, and applied to the rows of tasks and to running text."""

from __future__ import annotations

import filecmp
import itertools
import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retort.checksums import remedy_of_model
from retort.errors import RetortError, first_line

FILE = "tokenizer.json"
CONFIGURATIONS = ("special_tokens_map.json", "tokenizer_config.json")
PROBE = "A tokenizer makes tokens."  # encoded alone and as a pair, it shows which special tokens are added
CHUNK = 500  # texts tokenised at a time: an Encoding takes kilobytes, the columns only a few bytes per token
WORDS = 1 << 19  # words that are remembered; their memory is about 100 MB
ROW = 200  # new words that the library tokenises together
FIRST = "\n"  # marks the first word of a text: a tokenizer such as RoBERTa's gives it other input ids than later words
# pre-tokenisers that split at every space and normalisers that change no space, by their type in tokenizer.json
SPLIT_AT_SPACES = {
    "BertPreTokenizer", "ByteLevel", "Metaspace", "WhitespaceSplit", "Whitespace", "Punctuation", "Digits",
}  # fmt: skip
KEEP_SPACES = {
    "BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "StripAccents", "Lowercase", "Strip",
}  # fmt: skip


def tokenizer_file(folder: Path) -> Path:
    """Return the tokenizer.json of a model's folder.

    Raises:
        RetortError: the folder has none.
    """
    if not (folder / FILE).is_file():
        hint = "put it there, or name in workflow/models the model whose tokenizer it has ('tokenizer')"
        raise RetortError(f"{folder} holds no {FILE}", hint)
    return folder / FILE


def read_tokenizer(file: Path) -> Any:
    """Return the tokenizer that a tokenizer.json describes.

    Raises:
        RetortError: it describes none.
    """
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no narrower one
        raise RetortError(f"{file} cannot be read ({first_line(error)})", remedy_of_model(file.parent)) from error


def check_same_tokenizer(folder: str, tokenizer_folder: str, *further: str | None) -> None:
    """Check that model folders with a tokenizer of their own describe the one with which the data is encoded.

    Args:
        folder: the folder of a pre-trained model or a student.
        tokenizer_folder: the folder with the files of the tokenizer.
        *further: more folders of models; None is left out.

    Raises:
        RetortError: the tokenizer is missing, or one of the folders has a tokenizer.json that describes another one.
    """
    shared = tokenizer_file(Path(tokenizer_folder))
    for own in (Path(each) / FILE for each in (folder, *further) if each):
        if not own.is_file() or filecmp.cmp(own, shared, shallow=False):
            continue
        described, expected = _describe(own), _describe(shared)
        differs = [part for part in expected if described[part] != expected[part]]
        if differs:
            raise RetortError(
                f"{own} and {shared} describe different tokenizers: they differ in {', '.join(differs)}",
                "a model whose tokenizer is its own has no key 'tokenizer' in workflow/models",
            )


def check_ids(file: Path, vocabulary: int) -> None:
    """Check that a model has an embedding of each token of a tokenizer.json.

    Raises:
        RetortError: an id is not below the number of tokens in the model's vocabulary.
    """
    ids = read_tokenizer(file).get_vocab()
    if ids and max(ids.values()) >= vocabulary:
        last = max(ids, key=lambda token: ids[token])
        hint = f"the model has {vocabulary:,} tokens: is it the tokenizer of another model?"
        raise RetortError(f"{file}: token {last!r} has the id {ids[last]}", hint)


def _describe(file: Path) -> dict[str, object]:
    """Return what decides the tokens of a text, by name, without padding and truncation, which jobs set.

    The library reads the file and writes it again, which makes files of its older versions comparable. The
    post-processor is compared by its effect, as there are several ways to describe the same one.
    """
    encoder = read_tokenizer(file)
    encoder.no_padding()
    encoder.no_truncation()
    content = json.loads(encoder.to_str())
    around = [encoder.encode(PROBE), encoder.encode(PROBE, PROBE)]
    return {
        "vocabulary": encoder.get_vocab(),
        "model": content["model"],
        "normalizer": content["normalizer"],
        "pre-tokenizer": content["pre_tokenizer"],
        "post-processor": [(encoding.ids, encoding.type_ids) for encoding in around],
    }


@dataclass(frozen=True)
class Special:
    """The ids of the special tokens: start and end of text, mask, padding, unknown token (None if there is none)."""

    start: int
    end: int
    mask: int
    pad: int
    unknown: int | None

    @property
    def never_masked(self) -> list[int]:
        """The ids that masked language modelling never masks: all special tokens but the mask token itself."""
        return [self.start, self.end, self.pad, *([] if self.unknown is None else [self.unknown])]


def special_tokens(folder: Path, encoder: Any) -> Special:
    """Return the special tokens of the tokenizer in a model's folder.

    The start and end tokens are those that the tokenizer itself puts around an empty text. The mask and padding tokens
    are as configured, else the only special token spelled like them ([PAD]).

    Args:
        folder: the model's folder, with tokenizer.json and, if there are any, its configuration files.
        encoder: the tokenizer.

    Raises:
        RetortError: the tokenizer adds no start and end token, or its files name no mask or padding token.
    """
    around = encoder.encode("").ids
    if len(around) != 2:
        raise RetortError(
            f"{folder}: the tokenizer puts {len(around)} tokens around a text, not a start and an end",
            "tokenizer.json needs a post-processor such as BERT's or RoBERTa's",
        )
    start, end = around
    added = [token.content for token in encoder.get_added_tokens_decoder().values() if token.special]
    ids: dict[str, int] = {}
    for role in ("mask", "pad"):
        alike = [token for token in added if token.strip("[]<>|").lower() == role]
        token = _configured_token(folder, f"{role}_token") or (alike[0] if len(alike) == 1 else None)
        number = None if token is None else encoder.token_to_id(token)
        if number is None:
            hint = f"tokenizer_config.json should say which it is: '{role}_token'"
            raise RetortError(f"{folder}: no {role} token is known", hint)
        ids[role] = int(number)
    unknown = _content(folder / FILE)["model"].get("unk_token") or _configured_token(folder, "unk_token")
    return Special(start, end, ids["mask"], ids["pad"], encoder.token_to_id(unknown) if unknown else None)


def _configured_token(folder: Path, key: str) -> str | None:
    """Return the token that a configuration file gives for a key such as 'mask_token'; None if no file has it."""
    for path in (folder / name for name in CONFIGURATIONS):
        token = _content(path).get(key) if path.is_file() else None
        if token is not None:
            return str(token["content"] if isinstance(token, dict) else token)
    return None


def _content(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise RetortError(f"{path} cannot be read ({error})", remedy_of_model(path.parent)) from None


@dataclass(frozen=True)
class Tokeniser:
    """A tokenizer that encodes texts or pairs of texts in chunks.

    Args:
        encoder: the `tokenizers.Tokenizer`.
        id_type: the smallest type code of `array.array` that holds all its input ids.
        has_type_ids: False where all its token type ids are 0, as in RoBERTa and XLM-R.
    """

    encoder: Any
    id_type: str
    has_type_ids: bool

    @classmethod
    def of(cls, encoder: Any) -> Tokeniser:
        """Return the tokeniser of a `tokenizers.Tokenizer`, which does not truncate yet."""
        encoder.no_padding()
        id_type = np.dtype(token_dtype(max(encoder.get_vocab().values()) + 1)).char
        pair = encoder.encode("a", "a")  # the post-processor gives the second text its type id: 1 in BERT's family
        return cls(encoder, id_type, any(pair.type_ids))

    def __call__(self, texts: Iterable[Any], offsets: bool = True) -> Iterator[Any]:
        """Yield the `tokenizers.Encoding` of each text, or pair of texts, in order.

        Without the character offsets of tokens this is faster.
        """
        encode_batch = self.encoder.encode_batch if offsets else self.encoder.encode_batch_fast
        rest = iter(texts)
        while chunk := list(itertools.islice(rest, CHUNK)):
            yield from encode_batch(chunk)


def token_dtype(vocabulary: int) -> type[np.unsignedinteger[Any]] | type[np.signedinteger[Any]]:
    """Return the smaller of uint16 and int32 that holds every token id of the vocabulary."""
    return np.uint16 if vocabulary <= 1 << 16 else np.int32


def words_are_independent(tokenizer: dict[str, Any]) -> bool:
    """Return whether the input ids of a text are those of its words, one after another.

    Args:
        tokenizer: the content of tokenizer.json.
    """
    splits, normalizers = _steps(tokenizer["pre_tokenizer"]), _steps(tokenizer["normalizer"])
    added = [token["content"] for token in tokenizer.get("added_tokens", []) if not token["special"]]
    return (
        bool(splits)
        and all(step["type"] in SPLIT_AT_SPACES for step in splits)
        and all(step.get("use_regex", True) for step in splits)  # ByteLevel splits at spaces only by its expression
        and all(step["type"] in KEEP_SPACES or _replaces_runs(step) for step in normalizers)
        and not any(" " in token for token in added)
    )


def _steps(node: Any) -> list[dict[str, object]]:
    """Return the steps of a normaliser or pre-tokeniser of tokenizer.json: none for None, all of a sequence."""
    if node is None:
        return []
    return list(itertools.chain(*map(_steps, node.get("pretokenizers") or node.get("normalizers") or []))) or [node]


def _replaces_runs(step: dict[str, object]) -> bool:
    """Return whether a normaliser only replaces runs of two or more spaces; a cleaned text has none."""
    return bool(step["type"] == "Replace" and step["pattern"] == {"Regex": " {2,}"})


class _Words(dict[str, int]):
    """A number for each different word, in the order of their first use; `new` are those without input ids yet."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        """Give a number to a word that is looked up for the first time, and return it."""
        number = self[word] = len(self)
        self.new.append(word)
        return number


class TextTokenizer:
    """Tokenises cleaned texts (one space between words) as the library does, and remembers the words it has met.

    `encode` returns the input ids of several texts, one text after another and without special tokens, (tokens,), and
    the number of tokens of each text, (texts,).

    Args:
        encoder: the `tokenizers.Tokenizer`, without padding and truncation.
        words_are_independent: whether words can be tokenised one by one; if not, each text is tokenised as a whole.
    """

    def __init__(self, encoder: Any, words_are_independent: bool) -> None:
        self.encoder = encoder
        self.encode = self._encode_words if words_are_independent else self._encode_whole
        self._forget()

    def _forget(self) -> None:
        self._words = _Words()
        self._ids = np.empty(0, np.int32)  # (pieces,), the input ids of all words, one word after another
        self._starts = np.empty(0, np.int64)  # (words,), where the input ids of each word start in `_ids`
        self._lengths = np.empty(0, np.int32)  # (words,), the number of input ids of each word

    def _encode_whole(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        rows = [row.ids for row in self.encoder.encode_batch_fast(list(texts), add_special_tokens=False)]
        lengths = np.fromiter(map(len, rows), np.int32, len(rows))
        return np.fromiter(itertools.chain(*rows), np.int32, int(lengths.sum())), lengths

    def _encode_words(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the input ids of the texts, looked up word by word."""
        if not texts:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        if len(self._words) > WORDS:
            self._forget()
        words = " ".join([FIRST + text for text in texts]).split(" ")
        numbers = np.fromiter(map(self._words.__getitem__, words), np.int64, len(words))  # (words,)
        self._learn()
        lengths = self._lengths[numbers]  # (words,)
        ends = np.cumsum(lengths, dtype=np.int64)  # (words,)
        # index of each token = start of its word in `_ids` + position in the word
        indices = np.repeat(self._starts[numbers] - (ends - lengths), lengths) + np.arange(ends[-1])
        counts = np.fromiter((text.count(" ") + 1 for text in texts), np.int64, len(texts))  # (texts,), words of each
        text_ends = ends[np.cumsum(counts) - 1]  # (texts,)
        return self._ids[indices], np.diff(text_ends, prepend=0).astype(np.int32)

    def _learn(self) -> None:
        """Tokenise the words that were met for the first time."""
        new, self._words.new = self._words.new, []
        # a later word is tokenised with the space before it
        words = [word[1:] if word.startswith(FIRST) else f" {word}" for word in new]
        rows = [words[start : start + ROW] for start in range(0, len(words), ROW)]
        ids, owners = array("i"), array("q")  # (tokens,) each; the owner of a token is the number of its word
        for row, encoding in enumerate(self.encoder.encode_batch(rows, is_pretokenized=True, add_special_tokens=False)):
            ids.extend(encoding.ids)
            owners.extend([row * ROW + word for word in encoding.word_ids])
        lengths = np.bincount(np.frombuffer(owners, np.int64), minlength=len(new)).astype(np.int32)
        starts = len(self._ids) + np.cumsum(lengths, dtype=np.int64) - lengths
        self._ids = np.concatenate([self._ids, np.frombuffer(ids, np.int32)])
        self._starts = np.concatenate([self._starts, starts])
        self._lengths = np.concatenate([self._lengths, lengths])


@dataclass
class CorpusTokenizer:
    """The tokenizer of a corpus, its special tokens and the size of its vocabulary."""

    texts: TextTokenizer
    special: Special
    vocabulary: int

    @classmethod
    def load(cls, model: Path) -> CorpusTokenizer:
        """Load the tokenizer of a model's folder."""
        encoder = read_tokenizer(model / "tokenizer.json")
        encoder.no_padding()
        encoder.no_truncation()
        encoder.encode_special_tokens = True  # the characters '[MASK]' in a text are encoded as ordinary text
        content = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))
        texts = TextTokenizer(encoder, words_are_independent(content))
        return cls(texts, special_tokens(model, encoder), int(encoder.get_vocab_size()))
