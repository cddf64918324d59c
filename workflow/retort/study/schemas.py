"""The JSON schemas of the study's YAML files: editors use them to complete, explain and check the files.

They are made from the models of `specs`. Where a file may hold more, a function here changes the schema. After a change
of these models, `python -m retort.study.schemas` writes the schemas anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from retort.atomic import write_text
from retort.errors import RetortError
from retort.specs.across import Across, Answer, Facts
from retort.specs.base import Name
from retort.specs.config import ROOT, Config
from retort.specs.corpus import Corpus
from retort.specs.exhibit import KINDS, exhibit_type
from retort.specs.model import Model
from retort.specs.paper import Choice, Paper, Recording, Replication, Statement
from retort.specs.protocol import Protocol
from retort.specs.rows import Columns
from retort.specs.scale import Scale
from retort.specs.source import Source
from retort.specs.student import Student
from retort.specs.task import Task


def with_families(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a file of students that may hold families, too, their axes, and YAML anchors.

    An axis may set any field of a family; `retort check` checks them.
    """
    free = {r"\{": {"description": "a family"}, "^_": {"description": "YAML anchors"}}
    axes = {"axes": {"description": "axes that several families use: axis -> value -> what it sets"}}
    ((name, entry),) = schema["patternProperties"].items()
    students = {name.replace("^", "^(?!axes$)", 1): entry, **free}
    return {**schema, "properties": axes, "patternProperties": students}


def with_exhibits(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a paper, whose tables and figures are as the schemas of their own files say."""
    fields = schema["properties"]
    inside = {f"{noun}s": {**fields[f"{noun}s"], "additionalProperties": {"$ref": f"{noun}.json"}} for noun in KINDS}
    return {**schema, "properties": {**fields, **inside}}


FOLDER = ROOT / "workflow" / "schemas"
MARK = "# yaml-language-server: $schema="  # what editors look for in the first line of a YAML file


class File(NamedTuple):
    """A type of YAML file: the paths of these files, from the root of the repository, and the model of a file."""

    pattern: str
    model: Any


# name of the schema -> its files
FILES = {
    "config": File("config.yaml", Config),
    "facts": File("workflow/facts.yaml", dict[Name, Facts]),
    "task": File("workflow/tasks/*.yaml", Task),
    "corpus": File("workflow/corpora/*.yaml", Corpus),
    "model": File("workflow/models/*.yaml", Model),
    "source": File("workflow/sources/*.yaml", Source),
    "protocol": File("workflow/protocols/*.yaml", Protocol),
    "scale": File("workflow/scales/*.yaml", Scale),
    "paper": File("workflow/papers/*/paper.yaml", Paper),
    "recording": File("workflow/papers/*/recorded/*.yaml", Recording),
    "replication": File("workflow/papers/*/replications/*.yaml", Replication),
    "students": File("workflow/papers/*/students*.yaml", dict[Name, Student]),
    "columns": File("workflow/papers/columns.yaml", dict[Name, Columns]),
    "across": File("workflow/papers/across.yaml", dict[Name, Across]),
    "answers": File("workflow/papers/answers.yaml", dict[Name, Answer]),
    "deviations": File("workflow/papers/*/deviations.yaml", list[Choice]),
    "table": File("workflow/papers/*/table*.yaml", exhibit_type("table")),
    "figure": File("workflow/papers/*/figure*.yaml", exhibit_type("figure")),
    "claims": File("workflow/papers/*/claims.yaml", dict[Name, Statement]),
    "audit": File("workflow/papers/*/audit.yaml", dict[Name, Statement]),
}
CHANGES = {"paper": with_exhibits, "students": with_families}  # of the schemas that pydantic makes


def schema_text(name: str) -> str:
    """Return the JSON schema of one type of file."""
    schema = TypeAdapter(FILES[name].model).json_schema()
    if "patternProperties" in schema:  # entries by name
        schema["additionalProperties"] = False
    schema = {"$schema": GenerateJsonSchema.schema_dialect, **CHANGES.get(name, dict)(schema)}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


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


def write_files() -> None:
    """Write the schemas and the first lines of YAML files that are not current, and print their paths.

    Raises:
        RetortError: a YAML file is not UTF-8 text.
    """
    for path, text in current_files().items():
        if not path.is_file() or path.read_bytes() != text.encode():
            write_text(path, text)
            print(f"{path.relative_to(ROOT)}: written")


if __name__ == "__main__":
    write_files()
