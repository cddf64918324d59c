"""The JSON schemas of the study's YAML files: editors use them to complete, explain and check the files.

They are made from the models of this package. Most files hold one model. For a file with another layout, a function
here changes the schema of the model; `FILES` names it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from retort.errors import RetortError
from retort.specs.config import ROOT, Config
from retort.specs.corpus import Corpus
from retort.specs.exhibit import KINDS, exhibit_type
from retort.specs.model import Model
from retort.specs.paper import Across, Choice, Facts, Paper, Recording, Statement
from retort.specs.protocol import Protocol
from retort.specs.rows import Columns
from retort.specs.scale import Scale
from retort.specs.source import Source
from retort.specs.student import Student
from retort.specs.task import Task
from retort.specs.task_files import RowSet

NAME = r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$"
FREE = {r"\{": {"description": "a family, which `retort check` checks"}, "^_": {"description": "YAML anchors"}}


def one_entry(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a file that holds one entry, which is the schema of the model."""
    return schema


def by_name(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a file that maps names to entries.

    A key that starts with '_' only holds YAML anchors. One with placeholders is a family, whose fields an axis may set:
    both may hold anything.
    """
    entry = {key: value for key, value in schema.items() if key != "$defs"}
    return {
        "$defs": {**schema.get("$defs", {}), "Entry": entry},
        "type": "object",
        "properties": {"axes": {"description": "axes that several families use: axis -> value -> what it sets"}},
        "patternProperties": {NAME.replace("^", "^(?!axes$)", 1): {"$ref": "#/$defs/Entry"}, **FREE},
        "additionalProperties": False,
    }


def with_exhibits(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a paper, whose tables and figures are as the schemas of their own files say."""
    fields = schema["properties"]
    inside = {f"{noun}s": {**fields[f"{noun}s"], "additionalProperties": {"$ref": f"{noun}.json"}} for noun in KINDS}
    return {**schema, "properties": {**fields, **inside}}


FOLDER = ROOT / "workflow" / "schemas"
MARK = "# yaml-language-server: $schema="  # what editors look for in the first line of a YAML file


Layout = Callable[[JsonSchemaValue], JsonSchemaValue]


@dataclass(frozen=True)
class File:
    """A type of YAML file.

    Args:
        pattern: the paths of these files, from the root of the repository.
        model: the model of what they hold.
        layout: changes the schema of the model into that of the file.
    """

    pattern: str
    model: Any
    layout: Layout = one_entry


# name of the schema -> its files
FILES: dict[str, File] = {
    "config": File("config.yaml", Config),
    "facts": File("workflow/facts.yaml", Facts, by_name),
    "task": File("workflow/tasks/*.yaml", Task),
    "corpus": File("workflow/corpora/*.yaml", Corpus),
    "training_rows": File("workflow/training_rows/*.yaml", RowSet),
    "model": File("workflow/models/*.yaml", Model),
    "source": File("workflow/sources/*.yaml", Source),
    "protocol": File("workflow/protocols/*.yaml", Protocol),
    "scale": File("workflow/scales/*.yaml", Scale),
    "paper": File("workflow/papers/*/paper.yaml", Paper, with_exhibits),
    "recording": File("workflow/papers/*/recorded/*.yaml", Recording),
    "students": File("workflow/papers/*/students*.yaml", Student, by_name),
    "columns": File("workflow/papers/columns.yaml", Columns, by_name),
    "across": File("workflow/papers/across.yaml", Across, by_name),
    "deviations": File("workflow/papers/*/deviations.yaml", list[Choice]),
    "table": File("workflow/papers/*/table*.yaml", exhibit_type("table")),
    "figure": File("workflow/papers/*/figure*.yaml", exhibit_type("figure")),
    "claims": File("workflow/papers/*/claims.yaml", Statement, by_name),
    "audit": File("workflow/papers/*/audit.yaml", Statement, by_name),
}


def schema_text(name: str) -> str:
    """Return the JSON schema of one type of file."""
    file = FILES[name]
    schema = file.layout(TypeAdapter(file.model).json_schema())
    return json.dumps({"$schema": GenerateJsonSchema.schema_dialect, **schema}, indent=2, ensure_ascii=False) + "\n"


def schema_line(path: Path, name: str) -> str:
    """Return the line with which a YAML file names its schema, by a path relative to the file."""
    return f"{MARK}{Path(os.path.relpath(FOLDER / f'{name}.json', path.parent)).as_posix()}\n"


def with_schema_line(path: Path, name: str) -> str:
    """Return the text of a YAML file with its schema named in the first line and all else unchanged.

    A byte order mark is left out, since the new first line would come before it.

    Raises:
        RetortError: the file is not UTF-8 text.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        file = path.relative_to(ROOT)
        raise RetortError(f"{file}: not UTF-8 text ({error.reason})", "save the file as UTF-8") from None
    rest = text.partition("\n")[2] if text.startswith(MARK) else text
    return schema_line(path, name) + rest


def current_files() -> dict[Path, str]:
    """Return every schema, and every YAML file that names one, with the text that it must have."""
    texts = {FOLDER / f"{name}.json": schema_text(name) for name in FILES}
    for name, file in FILES.items():
        texts |= {path: with_schema_line(path, name) for path in sorted(ROOT.glob(file.pattern))}
    return texts
