"""The JSON schemas of the study's YAML files: editors use them to complete, explain and check the files.

They are made from the models of this package. `FILES` gives the layout of files that do not hold one model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaValue

from retort.errors import RetortError
from retort.specs.config import ROOT, Config
from retort.specs.corpus import Corpus
from retort.specs.exhibit import exhibit_type
from retort.specs.json_schema import Generator, by_name, one_entry, with_families
from retort.specs.model import Model
from retort.specs.paper import Paper
from retort.specs.protocol import Protocol
from retort.specs.recording import Recording
from retort.specs.scale import Scale
from retort.specs.source import Source
from retort.specs.statement import Facts, Statement
from retort.specs.student import Student
from retort.specs.task import Task

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
    "model": File("workflow/models/*.yaml", Model),
    "source": File("workflow/sources/*.yaml", Source),
    "protocol": File("workflow/protocols/*.yaml", Protocol),
    "scale": File("workflow/scales/*.yaml", Scale),
    "paper": File("workflow/papers/*/paper.yaml", Paper),
    "recording": File("workflow/papers/*/recorded/*.yaml", Recording),
    "students": File("workflow/papers/*/students.yaml", Student, with_families),
    "table": File("workflow/papers/*/table*.yaml", exhibit_type("table")),
    "figure": File("workflow/papers/*/figure*.yaml", exhibit_type("figure")),
    "claims": File("workflow/papers/*/claims.yaml", Statement, by_name),
    "audit": File("workflow/papers/*/audit.yaml", Statement, by_name),
}


def schema_text(name: str) -> str:
    """Return the JSON schema of one type of file."""
    file = FILES[name]
    schema = file.layout(TypeAdapter(file.model).json_schema(schema_generator=Generator))
    return json.dumps({"$schema": Generator.schema_dialect, **schema}, indent=2, ensure_ascii=False) + "\n"


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
