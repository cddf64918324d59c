"""The special tokens of a tokenizer, as its own files name them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.errors import RetortError

FILES = ("special_tokens_map.json", "tokenizer_config.json")


@dataclass(frozen=True)
class Special:
    """Token ids: what a text starts and ends with, what masks, what pads, and what stands for the unknown."""

    start: int
    end: int
    mask: int
    pad: int
    unknown: int | None

    @property
    def never_masked(self) -> list[int]:
        """The ids that masked language modelling leaves alone."""
        return [self.start, self.end, self.pad, *([] if self.unknown is None else [self.unknown])]


def _named(folder: Path, key: str) -> str | None:
    for name in FILES:
        path = folder / name
        token = json.loads(path.read_text(encoding="utf-8")).get(key) if path.is_file() else None
        if token is not None:
            return str(token["content"] if isinstance(token, dict) else token)
    return None


def _id(folder: Path, encoder: Any, role: str, added: list[str]) -> int:
    """The id of the mask or pad token: as the configuration says, else the special token whose word is the role."""
    named = _named(folder, f"{role}_token")
    alike = [token for token in added if token.strip("[]<>|").lower() == role]
    token = named or (alike[0] if len(alike) == 1 else None)
    number = None if token is None else encoder.token_to_id(token)
    if number is None:
        raise RetortError(
            f"{folder}: no {role} token is known", f"tokenizer_config.json should say which it is: '{role}_token'"
        )
    return int(number)


def special_tokens(folder: Path, encoder: Any) -> Special:
    """The special tokens of the tokenizer in a model's folder.

    Start and end are what the tokenizer itself puts around an empty text.

    Args:
        folder: the model's folder, with tokenizer.json and, where there are, its configuration files.
        encoder: the tokenizer.

    Raises:
        RetortError: the tokenizer puts no start and end, or its files name no mask or padding.
    """
    around = encoder.encode("").ids
    if len(around) != 2:
        raise RetortError(
            f"{folder}: the tokenizer puts {len(around)} tokens around a text, not a start and an end",
            "tokenizer.json needs a post-processor such as BERT's or RoBERTa's",
        )
    added = [token.content for token in encoder.get_added_tokens_decoder().values() if token.special]
    unknown = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    name = unknown.get("unk_token") or _named(folder, "unk_token")
    return Special(
        *around,
        mask=_id(folder, encoder, "mask", added),
        pad=_id(folder, encoder, "pad", added),
        unknown=encoder.token_to_id(name) if name else None,
    )
