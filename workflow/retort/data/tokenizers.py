"""The tokenizer of a pre-trained model's folder, and the check that two folders describe the same one."""

from __future__ import annotations

import filecmp
import json
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
