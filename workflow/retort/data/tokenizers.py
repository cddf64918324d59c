"""Tokenizers: read from a model's folder, compared, and applied to the rows of tasks."""

from __future__ import annotations

import contextlib
import filecmp
import functools
import itertools
import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from retort.checksums import remedy_of_model
from retort.data.files import check_content
from retort.errors import RetortError, first_line

FILE = "tokenizer.json"
CONFIGURATIONS = ("special_tokens_map.json", "tokenizer_config.json")
FILES = (
    FILE,
    *CONFIGURATIONS,
    "vocab.txt",  # BERT
    "vocab.json",  # RoBERTa
    "merges.txt",
    "sentencepiece.bpe.model",  # XLM-R
)
# encoded alone and as a pair, it shows which special tokens are added, and what becomes of capitals, accents, joined
# letters and ideographs
PROBE = "A Tokenizer's TOKENS: caf\u00e9, \u00c9t\u00e9, \ufb01ne \u6771\u4eac."
PROBED = 1000  # tokens of the vocabulary, at most, that are encoded next to it
CHUNK = 500  # texts tokenised at a time: an Encoding takes kilobytes, the columns only a few bytes per token


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
    """Return the tokenizer that a tokenizer.json describes, without its padding and truncation, which jobs set.

    Raises:
        RetortError: it describes none.
    """
    from tokenizers import Tokenizer

    check_content(file)
    try:
        encoder = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no narrower one
        raise RetortError(f"{file} cannot be read ({first_line(error)})", remedy_of_model(file.parent)) from error
    encoder.no_padding()
    encoder.no_truncation()
    return encoder


@contextlib.contextmanager
def explained_panics(file: Path) -> Iterator[None]:
    """Turn what the library raises where its own code stops, which is no `Exception`, into a `RetortError`.

    Raises:
        RetortError: a text could not be encoded with this tokenizer.json.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the library exports no such class
            raise
        hint = "a regular expression that tries too many ways to match?"
        raise RetortError(f"{file} cannot encode a text ({first_line(error)})", hint) from error


def copy_tokenizer(folder: Path | str, output: Path | str) -> None:
    """Copy the files of a tokenizer from the folder of a model to that of another one."""
    for path in (Path(folder) / name for name in FILES):
        if path.is_file():
            shutil.copyfile(path, Path(output) / path.name)


def check_command(folder: Path | str, named: Path | str) -> None:
    """Check that AutoTokenizer, which a model's card names, makes the tokens of trainings: those of tokenizer.json.

    Args:
        folder: the folder of a model that is saved, or would be.
        named: the folder that a message names.

    Raises:
        RetortError: they differ, or have no start and end, or the library cannot read the folder.
    """
    from transformers import AutoTokenizer

    encoder = read_tokenizer(Path(folder) / FILE)
    _ends(Path(named), encoder)
    tokens = sorted(encoder.get_vocab())
    text = " ".join([PROBE, *(token.title() for token in tokens[:: len(tokens) // PROBED + 1])])
    try:
        command = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        called = [command(text), command(text, PROBE, return_token_type_ids=True)]
        types = called[1]["token_type_ids"]
    except Exception as error:  # a class for each tokenizer, with checks of its own
        hint = "correct tokenizer_config.json"
        raise RetortError(f"{named}: AutoTokenizer cannot read the tokenizer ({first_line(error)})", hint) from error
    own = [encoder.encode(text), encoder.encode(text, PROBE)]
    if [each.ids for each in own] == [each["input_ids"] for each in called] and own[1].type_ids == types:
        return
    pairs = zip(own[0].ids, called[0]["input_ids"], strict=False)
    unlike = next(("{!r} and {!r}".format(*map(encoder.id_to_token, pair)) for pair in pairs if len(set(pair)) > 1), "")
    raise RetortError(
        f"{named}: {FILE} and AutoTokenizer, which reads tokenizer_config.json, make different tokens of a text: "
        f"{unlike or 'special tokens, or types of a pair'}",
        'correct the one that is wrong; with "tokenizer_class": "PreTrainedTokenizerFast", tokenizer.json holds',
    )


def check_same_tokenizer(folder: str, tokenizer_folder: str, *further: str | None) -> None:
    """Check that model folders with a tokenizer of their own describe the one with which the data is encoded.

    So does what a model would be saved with, by the command on its card.

    Args:
        folder: the folder of a pre-trained model or a student.
        tokenizer_folder: the folder with the files of the tokenizer.
        *further: more folders of models; None is left out.

    Raises:
        RetortError: the tokenizer is missing, or one of the folders has a tokenizer.json that describes another one, or
            the command on the card makes other tokens.
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
                "a model whose tokenizer is its own has no key 'tokenizer' in workflow/models, and a student starts "
                "from a model with its teacher's tokenizer",
            )
    config = Path(folder) / "config.json"  # its family decides the class of the tokenizer
    read = [path for path in (*(Path(tokenizer_folder) / name for name in FILES), config) if path.is_file()]
    _check_saved(tokenizer_folder, str(config), tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in read))


@functools.cache  # a job has a training for each seed, and this takes a fifth of a second
def _check_saved(tokenizer_folder: str, config: str, _read: tuple[tuple[int, int], ...]) -> None:
    """Check the command on the card of a model that would be saved; `_read` are times and sizes of what is read."""
    with TemporaryDirectory() as saved, explained_panics(Path(tokenizer_folder) / FILE):
        copy_tokenizer(tokenizer_folder, saved)
        if Path(config).is_file():
            shutil.copyfile(config, Path(saved) / "config.json")
        check_command(saved, tokenizer_folder)


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
    """Return what decides the tokens of a text, by name.

    The library reads the file and writes it again, which makes files of its older versions comparable. The
    post-processor is compared by its effect, as there are several ways to describe the same one.
    """
    encoder = read_tokenizer(file)
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
    start, end = _ends(folder, encoder)
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
    return Special(start, end, ids["mask"], ids["pad"], _unknown(folder, encoder))


def _ends(folder: Path, encoder: Any) -> list[int]:
    """Return the ids of the start and end token that a tokenizer puts around a text.

    Raises:
        RetortError: it puts none, or others.
    """
    around: list[int] = encoder.encode("").ids
    if len(around) != 2:
        raise RetortError(
            f"{folder}: the tokenizer puts {len(around)} tokens around a text, not a start and an end",
            "tokenizer.json needs a post-processor such as BERT's or RoBERTa's",
        )
    return around


def _unknown(folder: Path, encoder: Any) -> int | None:
    """Return the id of the unknown token; None if there is none."""
    token = _content(folder / FILE)["model"].get("unk_token") or _configured_token(folder, "unk_token")
    return encoder.token_to_id(token) if token else None


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
        unknown: the id of the unknown token; None if there is none.
    """

    encoder: Any
    id_type: str
    has_type_ids: bool
    unknown: int | None = None

    @classmethod
    def read(cls, file: Path) -> Tokeniser:
        """Return the tokeniser of a tokenizer.json.

        Raises:
            RetortError: it cannot be read, or puts no start and end token around a text.
        """
        encoder = read_tokenizer(file)
        _ends(file.parent, encoder)
        return replace(cls.of(encoder), unknown=_unknown(file.parent, encoder))

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
