"""The strict base class of all specs, and the types that several specs share."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    ModelWrapValidatorHandler,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, core_schema

from retort.errors import CONTROL
from retort.registry import nearest, unknown

# Names appear in paths and HTML, so only letters, digits and single dashes are safe.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$", max_length=80)]


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


_Filled = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Text = Annotated[_Filled, AfterValidator(without_controls)]
Label = Annotated[_Filled, AfterValidator(one_line)]  # titles and names of rows stand in messages and tables
Settings = dict[str, Any]
UNKNOWN_KEY = "unknown_key"  # pydantic's name for an error
CUSTOM = (UNKNOWN_KEY, "no_source")  # types of errors that bring their own message
OptionValue = JsonValue  # the value of an option: what JSON can hold
Options = dict[str, OptionValue]  # options of a reader, a file format or an objective, by name


class Spec(BaseModel):
    """A frozen model that rejects unknown keys, and numbers that are not finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="wrap")
    @classmethod
    def _tell_all(cls, content: Any, validate: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Validate, and report every mistake at once: those of single keys, and contradictions between keys.

        An unknown key is reported with the nearest known one. That one is then not reported as missing, too. What is a
        spec already is taken as it is.
        """
        if isinstance(content, cls):
            return validate(content)
        try:
            spec = validate(content)
        except ValidationError as error:
            items = error.errors(include_url=False)
            extra = [item for item in items if item["type"] == "extra_forbidden" and len(item["loc"]) == 1]
            meant = {nearest(item["loc"][0], _keys(cls)) for item in extra}
            misspelt = {("missing", (key,)) for key in meant}
            details = [_detail(item, _keys(cls)) for item in items if (item["type"], item["loc"]) not in misspelt]
            if isinstance(content, dict):
                wrong = {*meant, *(item["loc"][0] for item in items if item["loc"])}
                details += _contradictions(cls, _partial_spec(cls, content, wrong, info.context))
            raise ValidationError.from_exception_data(error.title, details) from None
        if details := _contradictions(cls, spec):
            raise ValidationError.from_exception_data(cls.__name__, details)
        return spec


def _keys(model: type[BaseModel]) -> list[str]:
    """Return the keys that a YAML file gives for a model."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _partial_spec(model: type[Spec], content: Settings, wrong: Container[Any], context: Any) -> Spec:
    """Return an unvalidated model of the content without the fields of wrong keys, even if these have a default."""
    partial = model.model_construct()
    for name, field in model.model_fields.items():
        key = field.alias or name
        if key in wrong:
            partial.__dict__.pop(name, None)
        elif key in content:
            kind: Any = field.annotation
            for limit in field.metadata:  # not the field itself: its alias has no meaning for a value
                kind = Annotated[kind, limit]
            adapter: TypeAdapter[Any] = TypeAdapter(kind)
            partial.__dict__[name] = adapter.validate_python(content[key], context=context)
    return partial


def _contradictions(model: type[Spec], spec: Spec) -> list[InitErrorDetails]:
    """Return an error for each failing check of several fields; a check that reads a missing field is skipped.

    Pydantic itself stops at the first check that fails, and runs none of them if a single field is wrong.
    """
    details = []
    for check in model.__pydantic_decorators__.model_validators.values():
        if check.info.mode == "after":
            try:
                check.func(spec)
            except (AttributeError, LookupError, TypeError):  # it reads a field whose mistake is reported already
                continue
            except ValueError as error:
                details.append(InitErrorDetails(type="value_error", loc=(), input=None, ctx={"error": error}))
    return details


def _detail(item: ErrorDetails, keys: Iterable[str]) -> InitErrorDetails:
    """Return an error in the form that pydantic raises; the message of an unknown key suggests one of `keys`."""
    error_type: str | PydanticCustomError = item["type"]
    if error_type == "extra_forbidden" and len(item["loc"]) == 1:
        error_type = PydanticCustomError(UNKNOWN_KEY, "{text}", {"text": str(unknown("key", item["loc"][0], keys))})
    elif error_type in CUSTOM:
        error_type = PydanticCustomError(error_type, "{text}", {"text": item["msg"]})
    return InitErrorDetails(type=error_type, loc=item["loc"], input=item["input"], ctx=item.get("ctx", {}))


@dataclass(frozen=True)
class Unique:
    """An annotation of a list: no value is listed twice."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Return the schema of the list with a check that each value is listed once."""
        return core_schema.no_info_after_validator_function(_check_distinct, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON schema of the list."""
        return {**handler(schema), "uniqueItems": True}


def _check_distinct(values: list[Any]) -> list[Any]:
    twice = [value for number, value in enumerate(values) if value in values[:number]]
    if twice:
        raise ValueError(f"{twice[0]!r} is listed twice")
    return values


def check_names(key: str, noun: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Check that names are known.

    Args:
        key: the key that gives the names.
        noun: what they are names of, such as 'split'.
        names: the names.
        known: the names that exist.

    Raises:
        ValueError: a name is not known; the message suggests the nearest one.
    """
    for name in names:
        if name not in known:
            raise ValueError(f"{key}: {unknown(noun, name, known)}")


Entry = TypeVar("Entry")
Distinct = Annotated[list[Entry], Unique()]

# Numbers of YAML files, true and false: a text in quotes is none of them, and true and false are no numbers.
Whole = Annotated[int, Field(strict=True)]
Real = Annotated[float, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Version = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]  # up to eight digits: dates such as 20261122 fit
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**32)]  # what all random generators take
BySeed = dict[Seed, Real]  # seed -> score


@dataclass(frozen=True)
class FieldsOf:
    """An annotation of a mapping, for its JSON schema: the mapping changes some fields of a model."""

    model: type[Spec]

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of the model without required fields and defaults: fields left out are not changed."""
        whole = handler.resolve_ref_schema(handler(self.model.__pydantic_core_schema__))["properties"]
        fields = {name: {key: field[key] for key in field if key != "default"} for name, field in whole.items()}
        return {"type": "object", "properties": fields, "additionalProperties": False}


@dataclass(frozen=True)
class OrName:
    """An annotation of a value, for its JSON schema: a file may give the name of an entry in place of the value.

    Args:
        where: where the entries stand.
    """

    where: str

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return a schema that accepts the value or a name."""
        return {"anyOf": [handler(schema), {"type": "string", "description": f"an entry of {self.where}"}]}


# A deviation: what was chosen where a paper is silent, or where a study differs from it, and what it decides.


class Deviation(Spec):
    """One choice, in a sentence, with the settings or cells that it decides."""

    of: Distinct[Text] = Field(
        min_length=1,
        description="settings as `retort show` names them, * for any text; or a table, or 'table1: a column or row'",
    )
    text: Text = Field(description="what was chosen, and why")


# Names of students and teachers: short inside the files of their own paper, `<paper>-<name>` everywhere else.


@dataclass(frozen=True)
class Names:
    """The names that the files of one paper can use; the context in which these files are validated.

    Args:
        paper: the paper's slug.
        own: the short names of the paper's students and teachers.
        papers: the slugs of all papers of the study.
    """

    paper: str
    own: Collection[str]
    papers: Collection[str]

    def full(self, name: str) -> str:
        """Return the full name of a student or teacher, `<paper>-<name>`.

        A name is the paper's own if one of its students or teachers has it, or has a name that begins with it. (A row
        may give the beginning, and its columns the rest.) Any other name that begins with a paper's slug is full.
        """
        is_own = any(f"{own}-".startswith(f"{name}-") for own in self.own)
        is_full = any(name.startswith(f"{paper}-") for paper in self.papers)
        return f"{self.paper}-{name}" if is_own or not is_full else name

    def short(self, name: str) -> str:
        """Return the shortest name that means the same student or teacher inside the paper's files."""
        short = name.removeprefix(f"{self.paper}-")
        return short if self.full(short) == name else name


def _full(name: str, info: ValidationInfo) -> str:
    return info.context.full(name) if isinstance(info.context, Names) else name


# A student or teacher: validated in the context of `Names`, the value is its full name.
StudentName = Annotated[Name, AfterValidator(_full)]
