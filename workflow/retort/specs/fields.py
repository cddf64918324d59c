"""Fields of specs: days, what settings leave out, changes of a model's fields, mistakes below a field, names.

The name of a student or teacher is short in the files of its paper, and `<paper>-<name>` everywhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidationError,
    ValidationInfo,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from retort.registry import unknown_name
from retort.specs.base import Name, Spec, documented_fields, error_detail


def _in_calendar(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"no calendar has the day {text}") from None
    return text


Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_in_calendar)]


def left_out(default: Any = None, **limits: Any) -> Any:
    """Return a field that settings leave out where it has its default, so that those without it do not change."""
    return Field(default=default, exclude_if=lambda value: value == default, **limits)


@dataclass(frozen=True)
class FieldsOf:
    """An annotation of a mapping, for its JSON schema: the mapping changes some fields of a model.

    Args:
        model: the model.
        nearby: (key, description) of a text that must stand next to the fields, if there is one.
    """

    model: type[Spec]
    nearby: tuple[str, str] | None = None

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of the model without required fields and defaults: fields left out are not changed."""
        whole = handler.resolve_ref_schema(handler(self.model.__pydantic_core_schema__))["properties"]
        said = documented_fields(self.model)[1]
        fields = {
            name: {**{key: field[key] for key in field if key != "default"}, "description": said[name]}
            for name, field in whole.items()
        }
        if self.nearby is None:
            return {"type": "object", "properties": fields, "additionalProperties": False}
        fields[self.nearby[0]] = {"type": "string", "description": self.nearby[1]}
        return {
            "type": "object", "properties": fields, "required": [self.nearby[0]], "additionalProperties": False
        }  # fmt: skip


@contextmanager
def below_keys(*keys: str) -> Iterator[None]:
    """Locate what pydantic finds wrong in the block below some keys."""
    try:
        yield
    except ValidationError as error:
        details = [error_detail(item, below=keys) for item in error.errors(include_url=False)]
        raise ValidationError.from_exception_data(error.title, details) from None


# --- names of entries


@dataclass(frozen=True)
class Names:
    """The names that a file can use; the context in which files are validated.

    Args:
        entries: folder, such as 'tasks' -> its entries by name. Names of a folder that is left out are not checked.
        paper: the slug of the file's paper; empty for a file of none.
        own: the short names of the paper's students and teachers.
    """

    entries: dict[str, dict[str, Any]]
    paper: str = ""
    own: Collection[str] = ()

    def full(self, name: str) -> str:
        """Return the full name of a student or teacher, `<paper>-<name>`.

        A name is the paper's own if one of its students or teachers has it, or has a name that begins with it. (A row
        may give the beginning, and its columns the rest.) Any other name that begins with a paper's slug is full.
        """
        is_own = any(f"{own}-".startswith(f"{name}-") for own in self.own)
        is_full = any(name.startswith(f"{paper}-") for paper in self.entries["papers"])
        return f"{self.paper}-{name}" if is_own or not is_full else name

    def short(self, name: str) -> str:
        """Return the shortest name that means the same student or teacher inside the paper's files."""
        short = name.removeprefix(f"{self.paper}-")
        return short if self.full(short) == name else name


def entry_of(noun: str, *folders: str, also: str = "") -> AfterValidator:
    """Return a check that a name is that of an entry of some folders.

    Args:
        noun: what the name is a name of, such as 'task'.
        *folders: the folders, as in `Names`.
        also: a word that may stand in place of the name.
    """

    def check(name: str, info: ValidationInfo) -> str:
        entries = info.context.entries if isinstance(info.context, Names) else {}
        if name != also and all(folder in entries for folder in folders):
            known = [each for folder in folders for each in entries[folder]]
            if name not in known:
                raise ValueError(str(unknown_name(noun, name, known)))
        return name

    return AfterValidator(check)


def _full(name: str, info: ValidationInfo) -> str:
    return info.context.full(name) if isinstance(info.context, Names) and info.context.paper else name


SourceName = Annotated[Name, entry_of("source", "sources")]
ModelName = Annotated[Name, entry_of("model", "models")]
TaskName = Annotated[Name, entry_of("task", "tasks")]
CorpusName = Annotated[Name, entry_of("corpus", "corpora")]
ProtocolName = Annotated[Name, entry_of("protocol", "protocols")]
PaperName = Annotated[Name, entry_of("paper", "papers")]
# A student or teacher: validated in the context of a paper, the value is its full name. Tables may give the beginning
# of a name, so that only the whole table tells whether it exists.
StudentName = Annotated[Name, AfterValidator(_full)]
