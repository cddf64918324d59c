"""Write a task's made-up records as the files that its YAML says it reads, in either form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from retort.specs.task import Task
from retort.specs.task_files import SplitFiles

Rows = list[dict[str | int, Any]]


def write_tsv(path: Path, rows: Rows, header: bool = True) -> None:
    """Write a tab-separated file without quoting, as GLUE does."""
    names = list(rows[0]) if header else list(range(1, max(int(key) for key in rows[0]) + 1))
    lines = ["\t".join(map(str, names))] if header else []
    lines += ["\t".join(str(row.get(name, "x")) for name in names) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_jsonl(path: Path, rows: Rows) -> None:
    """Write a file with one JSON object per line."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_parquet(path: Path, rows: Rows) -> None:
    """Write a Parquet file, as on the hub."""
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def write_squad(path: Path, rows: Rows) -> None:
    """Write a file in SQuAD's JSON format, with one paragraph per question."""
    paragraphs = []
    for row in rows:
        given = row["answers"]
        answers = [{"text": text, "answer_start": at} for text, at in zip(*given.values(), strict=True)]
        asked = {key: value for key, value in row.items() if key not in ("context", "answers")}
        paragraphs.append({"context": row["context"], "qas": [{**asked, "answers": answers}]})
    write_json(path, [{"title": "Ferries", "paragraphs": paragraphs}], field="data")


def write_csv(path: Path, rows: Rows, delimiter: str = ",", quotechar: str = '"') -> None:
    """Write a file of separated values, with quotes around values that need them."""
    pd.DataFrame(rows).to_csv(path, sep=delimiter, quotechar=quotechar, index=False)


def write_json(path: Path, rows: Rows, field: str | None = None) -> None:
    """Write a JSON file: a list of objects, or an object that holds the list under the key `field`."""
    path.write_text(json.dumps({field: rows} if field else rows, ensure_ascii=False), encoding="utf-8")


WRITERS: dict[str, Callable[..., None]] = {
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
    "squad": write_squad,
}


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
            known = {key: column for key, column in own.columns.items() if key != "label" or split.labelled}
            rows.append({column: given[key] for key, column in known.items()})
        folder, file = sources[split.source or task.source], files.files[name].replace("{subset}", subset or "")
        if own.name:
            configuration, of_split = own.name.replace("{subset}", subset or ""), file
            file = f"{configuration}/{of_split}-00000-of-00001.{files.format}"
            (folder / configuration).mkdir(parents=True, exist_ok=True)
            add_to_card(folder, configuration, of_split, f"{configuration}/{of_split}-*")
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        WRITERS[files.format](path, rows, **own.options)
