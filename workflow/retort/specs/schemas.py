"""The JSON schemas of the study's YAML files, by which an editor completes, explains and checks them.

They are made from the models of this package. A file whose YAML form is not that of one model says so in `FILES`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from retort.specs.base import Name
from retort.specs.config import ROOT, Config
from retort.specs.corpus import Corpus
from retort.specs.model import Model
from retort.specs.paper import Paper
from retort.specs.protocol import Protocol
from retort.specs.scale import Scale
from retort.specs.source import Source
from retort.specs.statement import Facts, Statement
from retort.specs.student import Student
from retort.specs.table import Figure, Table
from retort.specs.task import Task

FOLDER = ROOT / "workflow" / "schemas"
MARK = "# yaml-language-server: $schema="  # what editors look for in the first line of a YAML file


def _closed(schema: JsonSchemaValue) -> None:
    schema["patternProperties"]["^_"] = {"description": "YAML anchors"}
    schema["additionalProperties"] = False


def named(model: Any) -> Any:
    """Return the type of a file that maps names to entries; a key that starts with '_' only holds YAML anchors."""
    return Annotated[dict[Name, model], Field(json_schema_extra=_closed)]


@dataclass(frozen=True)
class File:
    """A type of YAML file: which files are of it, as a pattern from the root of the repository, and what they hold."""

    pattern: str
    content: Any


# name of the schema -> its files
FILES: dict[str, File] = {
    "config": File("config.yaml", Config),
    "facts": File("workflow/facts.yaml", named(Facts)),
    "task": File("workflow/tasks/*.yaml", Task),
    "corpus": File("workflow/corpora/*.yaml", Corpus),
    "model": File("workflow/models/*.yaml", Model),
    "source": File("workflow/sources/*.yaml", Source),
    "protocol": File("workflow/protocols/*.yaml", Protocol),
    "scale": File("workflow/scales/*.yaml", Scale),
    "paper": File("workflow/papers/*/paper.yaml", Paper),
    "students": File("workflow/papers/*/students.yaml", named(Student)),
    "table": File("workflow/papers/*/table*.yaml", Table),
    "figure": File("workflow/papers/*/figure*.yaml", Figure),
    "claims": File("workflow/papers/*/claims.yaml", named(Statement)),
    "audit": File("workflow/papers/*/audit.yaml", named(Statement)),
}


class _Generator(GenerateJsonSchema):
    """Write draft 7, the newest one that all YAML editors read, without titles that only repeat a key."""

    schema_dialect = "http://json-schema.org/draft-07/schema#"

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        found = super().tuple_schema(schema)
        return {"items" if key == "prefixItems" else key: value for key, value in found.items()}


def schema_text(name: str) -> str:
    """Return the JSON schema of one type of file."""
    schema = TypeAdapter(FILES[name].content).json_schema(schema_generator=_Generator)
    return json.dumps({"$schema": _Generator.schema_dialect, **schema}, indent=2, ensure_ascii=False) + "\n"


def first_line(path: Path, name: str) -> str:
    """Return the line with which a YAML file names its schema, whose path is relative to the file."""
    return f"{MARK}{Path(os.path.relpath(FOLDER / f'{name}.json', path.parent)).as_posix()}\n"


def with_first_line(path: Path, name: str) -> str:
    """Return the text of a YAML file with its schema named in the first line and all else unchanged."""
    text = path.read_text(encoding="utf-8")
    rest = text.partition("\n")[2] if text.startswith(MARK) else text
    return first_line(path, name) + rest


def current_files() -> dict[Path, str]:
    """Return every schema, and every YAML file that names one, with the text that it must have."""
    texts = {FOLDER / f"{name}.json": schema_text(name) for name in FILES}
    for name, file in FILES.items():
        texts |= {path: with_first_line(path, name) for path in sorted(ROOT.glob(file.pattern))}
    return texts
