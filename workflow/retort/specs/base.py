"""The strict base class of all specs, and the types and fields that several specs share.

The name of a student or teacher is short in the files of its paper, and `<paper>-<name>` everywhere else.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import chdir, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, core_schema

from retort.errors import CONTROL
from retort.registry import nearest_name, unknown_name

# Names appear in paths and HTML, so only letters, digits and single dashes are safe.
NAME = r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$"
Name = Annotated[str, StringConstraints(pattern=NAME, max_length=80)]


def without_controls(text: str) -> str:
    """Return a text unchanged if it has no control characters but line breaks.

    Raises:
        ValueError: it has one.
    """
    if re.search(f"[{CONTROL}]", text.replace("\n", "")):
        raise ValueError("a control character stands in it; write it without")
    return text


def one_line(text: str) -> str:
    """Return a text unchanged if it has no line breaks and no control characters.

    Raises:
        ValueError: it has one.
    """
    if re.search(f"[{CONTROL}]", text):
        raise ValueError("a line break or a control character stands in it; write it on one line, without")
    return text


def check_relative(path: str) -> str:
    """Return a path unchanged if it stays inside its folder.

    Raises:
        ValueError: it is absolute, or has a part '..'.
    """
    if path.startswith(("/", "~")) or "\\" in path or "\0" in path or ".." in path.split("/"):
        raise ValueError(f"'{path}' leaves its folder; give a path inside it")
    return path


_counted_from = ContextVar("counted_from", default=Path())  # the folder from which paths of the user count


def path_of_user(path: str, start: Path | None = None) -> Path:
    """Return the path that a user wrote, with '~' as the home; '~name' stays where there is no user of this name.

    Args:
        path: the path.
        start: the folder from which it counts; None: the working directory, or that outside of `working_in`.
    """
    # that of Path raises where there is no such user
    return (start or _counted_from.get()) / os.path.expanduser(path)  # noqa: PTH111


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Work in another folder for a block, in which the paths that a user wrote lead where they led before."""
    token = _counted_from.set(Path.cwd())
    try:
        with chdir(folder):
            yield
    finally:
        _counted_from.reset(token)


_Stripped = Annotated[str, StringConstraints(strip_whitespace=True)]
_Filled = Annotated[_Stripped, StringConstraints(min_length=1)]


def unpadded(name: Any) -> Any:
    """Return a name by which something is looked up, if no space stands around it.

    Raises:
        ValueError: one does.
    """
    if isinstance(name, str) and name != name.strip():
        raise ValueError(f"a space stands before or behind {name!r}; write it without")
    return name


Text = Annotated[_Filled, AfterValidator(without_controls)]
Label = Annotated[_Filled, AfterValidator(one_line)]  # titles and names of rows stand in messages and tables
OptionalText = Annotated[_Stripped, AfterValidator(without_controls)]  # these two may be empty
OptionalLabel = Annotated[_Stripped, AfterValidator(one_line)]
Named = Annotated[Text, BeforeValidator(unpadded)]
Relative = Annotated[Label, AfterValidator(check_relative)]
Settings = dict[str, Any]
UNKNOWN_KEY = "unknown_key"  # pydantic's name for an error
CUSTOM = (UNKNOWN_KEY, "no_source")  # types of errors that bring their own message
OptionValue = JsonValue  # the value of an option: what JSON can hold
Options = dict[str, OptionValue]  # options of a reader, a file format or an objective, by name


def documented_fields(model: type[BaseModel]) -> tuple[str, dict[str, str]]:
    """Return what the docstring of a model says before 'Args:', and field -> what 'Args:' says, also of its bases."""
    fields, text = dict[str, str](), ""
    for base in reversed(model.__mro__):
        text, _, arguments = inspect.cleandoc(base.__doc__ or "").partition("\n\nArgs:\n")
        found = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", arguments, re.MULTILINE)
        fields |= {name: re.sub(r"(?<!\.)\.$", "", " ".join(said.split())) for name, said in found}
    return text, fields


class Spec(BaseModel):
    """A frozen model that rejects unknown keys, and numbers that are not finite.

    The docstring of a model describes its fields; the JSON schemas, which editors show, take them from there. What
    fields of the right types contradict, its generator `_wrong` yields, a line each.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON schema, with the descriptions of the docstring."""
        reference = handler(schema)
        found, (text, fields) = handler.resolve_ref_schema(reference), documented_fields(cls)
        found["description"] = text
        for name, field in cls.model_fields.items():
            if name in fields:
                found["properties"][field.alias or name]["description"] = fields[name]
        return reference

    @model_validator(mode="wrap")
    @classmethod
    def _suggest_keys(cls, content: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """Validate; an unknown key is reported with the nearest known one, which is then not reported as missing.

        So is a switch that is given as a text, such as 'random' for {random: true}.
        """
        if isinstance(content, str) and content in cls.model_fields and cls.model_fields[content].default is False:
            raise ValueError(f"write {{{content}: true}}, not '{content}'")
        try:
            return validate(content)
        except ValidationError as error:
            keys = [field.alias or name for name, field in cls.model_fields.items()]
            items = error.errors(include_url=False)
            extra = [item for item in items if item["type"] == "extra_forbidden" and len(item["loc"]) == 1]
            misspelt = {("missing", (nearest_name(item["loc"][0], keys),)) for item in extra}
            details = [error_detail(item, keys) for item in items if (item["type"], item["loc"]) not in misspelt]
            raise ValidationError.from_exception_data(error.title, details) from None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Raise the first of the mistakes that `_wrong` of the model, or of one of its bases, yields."""
        for wrong in _checks_of(type(self)):
            for line in wrong(self):
                raise ValueError(line)
        return self


@functools.cache
def _checks_of(model: type[BaseModel]) -> list[Callable[[Any], Iterable[str]]]:
    """Return `_wrong` of a model and of its bases, the most general first."""
    return [vars(base)["_wrong"] for base in reversed(model.__mro__) if "_wrong" in vars(base)]


def error_detail(item: ErrorDetails, keys: Iterable[str] = (), below: tuple[str, ...] = ()) -> InitErrorDetails:
    """Return an error in the form that pydantic raises, below further keys; an unknown key suggests one of `keys`."""
    error_type: str | PydanticCustomError = item["type"]
    if error_type == "extra_forbidden" and len(item["loc"]) == 1:
        error_type = PydanticCustomError(
            UNKNOWN_KEY, "{text}", {"text": str(unknown_name("key", item["loc"][0], keys))}
        )
    elif error_type in CUSTOM:
        error_type = PydanticCustomError(error_type, "{text}", {"text": item["msg"]})
    return InitErrorDetails(type=error_type, loc=(*below, *item["loc"]), input=item["input"], ctx=item.get("ctx", {}))


def _check_distinct(values: list[Any]) -> list[Any]:
    twice = [value for number, value in enumerate(values) if value in values[:number]]
    if twice:
        raise ValueError(f"{twice[0]!r} is listed twice")
    return values


def check_known(key: str, noun: str, names: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """Yield a line for each name that is not known.

    Args:
        key: the key of the file that gives the names.
        noun: what the names are names of, such as 'table'.
        names: the names.
        known: the names that exist.
    """
    yield from (f"{key}: {unknown_name(noun, name, known)}" for name in names if name not in known)


Entry = TypeVar("Entry")
Distinct = Annotated[list[Entry], AfterValidator(_check_distinct), Field(json_schema_extra={"uniqueItems": True})]

# Numbers of YAML files, true and false: a text in quotes is none of them, and true and false are no numbers.
Whole = Annotated[int, Field(strict=True)]
Real = Annotated[float, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Version = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]  # up to eight digits: dates such as 20261122 fit
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**32)]  # what all random generators take
BySeed = dict[Seed, Real]  # seed -> score


# A deviation: what was chosen where a paper is silent, or where a study differs from it, and what it decides.


class Deviation(Spec):
    """One choice, in a sentence, with the settings or cells that it decides.

    Args:
        of: settings as `retort show` names them, * for any text; or a table, or 'table1: a column or row'.
        text: what was chosen, and why.
    """

    of: Distinct[Text] = Field(min_length=1)
    text: Text


# --- fields


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
