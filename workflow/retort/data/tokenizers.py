"""The tokenizer of a pre-trained model's folder, and the check that two folders describe the same one."""

from __future__ import annotations

import filecmp
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.checksums import remedy_of_model
from retort.errors import RetortError

FILE = "tokenizer.json"
PROBE = "A tokenizer makes tokens."  # encoded alone and as a pair, it shows which special tokens are added


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
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise RetortError(f"{file} cannot be read ({reason})", remedy_of_model(file.parent)) from error


def _describe(file: Path) -> dict[str, Any]:
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


# The special tokens of a tokenizer, read from its own files.


FILES = ("special_tokens_map.json", "tokenizer_config.json")


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


def _configured_token(folder: Path, key: str) -> str | None:
    """Return the token that a configuration file gives for a key such as 'mask_token'; None if no file has it."""
    for path in (folder / name for name in FILES):
        token = _content(path).get(key) if path.is_file() else None
        if token is not None:
            return str(token["content"] if isinstance(token, dict) else token)
    return None


def _content(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise RetortError(f"{path} cannot be read ({error})", remedy_of_model(path.parent)) from None


def _token_id(folder: Path, encoder: Any, role: str, added: list[str]) -> int:
    """Return the id of the mask or pad token: as configured, else the only special token spelled like it ([PAD])."""
    named = _configured_token(folder, f"{role}_token")
    alike = [token for token in added if token.strip("[]<>|").lower() == role]
    token = named or (alike[0] if len(alike) == 1 else None)
    number = None if token is None else encoder.token_to_id(token)
    if number is None:
        raise RetortError(
            f"{folder}: no {role} token is known", f"tokenizer_config.json should say which it is: '{role}_token'"
        )
    return int(number)


def special_tokens(folder: Path, encoder: Any) -> Special:
    """Return the special tokens of the tokenizer in a model's folder.

    The start and end tokens are those that the tokenizer itself puts around an empty text.

    Args:
        folder: the model's folder, with tokenizer.json and, if there are any, its configuration files.
        encoder: the tokenizer.

    Raises:
        RetortError: the tokenizer adds no start and end token, or its files name no mask or padding token.
    """
    added_ids = encoder.encode("").ids
    if len(added_ids) != 2:
        raise RetortError(
            f"{folder}: the tokenizer puts {len(added_ids)} tokens around a text, not a start and an end",
            "tokenizer.json needs a post-processor such as BERT's or RoBERTa's",
        )
    start, end = added_ids
    added = [token.content for token in encoder.get_added_tokens_decoder().values() if token.special]
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    unknown = model.get("unk_token") or _configured_token(folder, "unk_token")
    return Special(
        start=start,
        end=end,
        mask=_token_id(folder, encoder, "mask", added),
        pad=_token_id(folder, encoder, "pad", added),
        unknown=encoder.token_to_id(unknown) if unknown else None,
    )
