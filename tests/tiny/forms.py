"""Write a task's made-up records as the files that its YAML says it reads, in either form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from retort.data.sources.synthetic_files import ROW_FORMATS
from retort.specs.model import MadeRows
from retort.specs.task import Task
from retort.specs.task_files import SplitFiles

Rows = list[dict[str | int, Any]]


def write_parquet(path: Path, rows: Rows) -> None:
    """Write a Parquet file, as on the hub."""
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def add_to_card(folder: Path, name: str, split: str, path: str) -> None:
    """Name a file in the card of a data set of the hub as the file of a split of a configuration."""
    card = folder / "README.md"
    content = yaml.safe_load(card.read_text().split("---")[1]) if card.exists() else {"configs": []}
    configurations = {entry["config_name"]: entry for entry in content["configs"]}
    if name not in configurations:
        configurations[name] = {"config_name": name, "data_files": []}
        content["configs"].append(configurations[name])
    configurations[name]["data_files"].append({"split": split, "path": path})
    card.write_text(f"---\n{yaml.safe_dump(content)}---\n# Made up\n")


def _label(task: Task, files: SplitFiles, label: Any) -> Any:
    if files.format == "squad":
        return [dict(zip(label, each, strict=True)) for each in zip(*label.values(), strict=True)]
    if not task.labels:
        return label
    number = task.labels.index(label)
    if files.label_names:
        return files.label_names[number]
    return number if files.format == "parquet" else str(number)


def write_sample(task: Task, location: str, sources: dict[str, Path]) -> None:
    """Write the task's sample to every split that has a file at this location.

    Args:
        task: the task.
        location: 'local' or 'hub'.
        sources: name of a source -> its folder.
    """
    files = task.read[location]  # type: ignore[index]
    for name, subset in task.encoded_splits.values():
        if name not in files.files:
            continue
        split, own = task.splits[name], files.of(name)
        rows: Rows = []
        for number, record in enumerate(task.sample):
            given = {"id": number, **record, "label": _label(task, files, record["label"])}
            rows.append(given)
        folder, file = sources[split.source or task.source], files.files[name].replace("{subset}", subset or "")
        if own.name:
            configuration, of_split = own.name.replace("{subset}", subset or ""), file
            file = f"{configuration}/{of_split}-00000-of-00001.{files.format}"
            (folder / configuration).mkdir(parents=True, exist_ok=True)
            add_to_card(folder, configuration, of_split, f"{configuration}/{of_split}-*")
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        made = MadeRows(
            file=file, format=files.format, options=own.options, columns=own.columns, task_type=task.task_type,
            labelled=split.labelled, count=1,
        )  # fmt: skip
        ROW_FORMATS[files.format](path, made, rows)
