"""Read files with the builders of the library `datasets`, and find the files of a split of a data set of the hub.

What the library cannot do is in formats.py: name the line of a mistake, and read the JSON of SQuAD.
"""

from __future__ import annotations

import collections
import glob
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retort.data.files import lines
from retort.errors import RetortError

CARD = "README.md"  # of a data set of the hub: names its configurations, and the files of their splits


def rows(builder: str, path: Path, **options: Any) -> Iterator[tuple[str, dict[str | int, Any]]]:
    """Yield (location, row) for each row of a file, as a builder of `datasets` reads it.

    The builder copies the whole file to a temporary folder first. It could stream the rows instead, but its Parquet
    reader then runs ahead in a thread, and Python aborts if it ends before that thread does (apache/arrow#45214).

    Args:
        builder: the name of the builder: csv, json or parquet.
        path: the file, plain or compressed with gzip.
        options: the options of the builder.

    Raises:
        RetortError: the builder cannot read the file.
    """
    import datasets

    datasets.logging.set_verbosity(logging.CRITICAL)  # the error below says it
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as cache:
        try:
            table = datasets.load_dataset(
                builder, data_files=glob.escape(str(path)), split="train", cache_dir=cache, **options
            )
        except Exception as error:  # each builder raises the errors of its own parser
            cause = error.__cause__ or error
            if isinstance(cause, UnicodeDecodeError):
                collections.deque(lines(path, options.get("encoding") or "utf-8"), maxlen=0)  # its error says the line
            reason = (str(cause) or "it is empty").splitlines()[0]
            raise RetortError(f"{path.name}: not a whole {builder} file ({reason})", "is it the right file?") from error
        for number, row in enumerate(table, start=1):
            yield f"row {number}", row


def split_files(folder: Path, name: str, split: str) -> list[Path]:
    """Return the files of a split of a data set of the hub, as its card says; no request is sent.

    The library resolves all configurations of a card at once, and fails where the folder holds the files of one alone:
    so the card is read here, with the library's classes.

    Args:
        folder: the folder of the files of the commit, with the card.
        name: the configuration of the data set.
        split: the split of the configuration.

    Raises:
        RetortError: the card has no such configuration or split, or the folder lacks its files.
    """
    where, patterns = f"{folder.name}/{CARD}", _patterns_of(folder, name, split)
    for pattern in patterns:
        if ".." in pattern.split("/") or pattern.startswith("/"):
            raise RetortError(f"{where}: '{pattern}' leaves its folder", "name the files of the splits instead")
    files = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    if not files:
        raise RetortError(
            f"{where}: the files of '{name}' and '{split}' are not here",
            f"'files' of the source takes {', '.join(patterns)}",
        )
    return files


def _patterns_of(folder: Path, name: str, split: str) -> list[str]:
    """Return the patterns that a card gives for the files of a split of a configuration."""
    from datasets.data_files import sanitize_patterns
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCard

    where = f"{folder.name}/{CARD}"
    if not (folder / CARD).is_file():
        raise RetortError(f"{where} does not exist", "name the files of the splits, without the key 'name'")
    try:
        configurations = MetadataConfigs.from_dataset_card_data(DatasetCard.load(folder / CARD).data)
        splits = {key: sanitize_patterns(value.get("data_files", {})) for key, value in configurations.items()}
    except Exception as error:  # YAML, and the library's own checks of it
        raise RetortError(f"{where}: not the card of a data set ({str(error).splitlines()[0]})") from error
    if name not in splits:
        raise RetortError(f"{where}: no configuration is called '{name}'", f"there are {', '.join(splits) or 'none'}")
    if split not in splits[name]:
        raise RetortError(f"{where}: '{name}' has no split '{split}'", f"there are {', '.join(splits[name]) or 'none'}")
    patterns: list[str] = splits[name][split]
    return patterns
