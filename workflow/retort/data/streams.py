"""Stream the first rows of a data set of the hub: a corpus with a limit needs a part of Wikipedia, not all of it.

The library `datasets` downloads only the parts of Parquet files that hold the text column of these rows. They are not
checked, as the hub has checksums of whole files only (hub.py compares those). A job that was killed begins again.
"""

from __future__ import annotations

import glob
import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

from retort.data.hub import MANIFEST, as_retort_error, library, listing
from retort.errors import RetortError
from retort.specs.source import FirstRows, HubFiles


def stream(hub: HubFiles, path: str, column: str, state: Path) -> Iterator[list[str]]:
    """Yield the texts of a Parquet file of the commit, a list for each row group, which is read when it is needed.

    Args:
        hub: the repository and its commit.
        path: the file in the repository.
        column: the column that holds the texts.
        state: the folder for the library's locks.

    Raises:
        RetortError: the hub gives no answer, or the file has no such column.
    """
    library()
    import datasets

    datasets.config.HF_HUB_OFFLINE = False  # as in hub.library()
    datasets.logging.set_verbosity(logging.CRITICAL)
    with as_retort_error(hub, str(hub.commit)):
        groups = datasets.load_dataset(
            "parquet",
            data_files=f"hf://datasets/{hub.repository}@{hub.commit}/{glob.escape(path)}",
            columns=[column],
            split="train",
            streaming=True,
            cache_dir=str(state),
        ).reshard()
        if column not in groups.features:
            raise RetortError(f"{hub.repository}: {path} has no column '{column}'", "name it in the corpus's options")
        for number in range(groups.num_shards):
            # read to its end: the library's thread would outlive a reader that is left in the middle of a group
            yield [row[column] or "" for row in groups.shard(groups.num_shards, number)]


def fetch_first(hub: HubFiles, first: FirstRows, output: Path, state: Path) -> int:
    """Write the first rows to files with the same names as on the hub, and a manifest; return the number of files.

    Args:
        hub: the repository and its commit.
        first: the files, the column of their texts, and after how many characters reading stops.
        output: the folder to fill.
        state: the folder for the library's locks; deleted at the end.

    Raises:
        RetortError: the hub gives no answer, or a file is not there or has no such column.
    """
    import pyarrow
    from pyarrow import parquet

    paths = [path for path in listing(hub.model_copy(update={"files": first.files})) if path.endswith(".parquet")]
    schema = pyarrow.schema([(first.column, pyarrow.string())])
    characters, rows = 0, dict[str, int]()
    for path in paths:
        if characters >= first.characters:
            break
        rows[path] = 0
        (output / path).parent.mkdir(parents=True, exist_ok=True)
        with parquet.ParquetWriter(output / path, schema) as writer:
            for texts in stream(hub, path, first.column, state):
                writer.write_table(pyarrow.table([texts], schema))
                rows[path] += len(texts)
                characters += sum(map(len, texts))
                if characters >= first.characters:
                    break
    manifest = {"repository": hub.repository, "commit": hub.commit, "characters": characters, "first_rows": rows}
    (output / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    shutil.rmtree(state, ignore_errors=True)
    return len(rows)
