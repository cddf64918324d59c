"""The strict base class of all specs, safe names, and a YAML reader that rejects duplicate keys."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    JsonValue,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, core_schema

from retort.errors import RetortError
from retort.registry import nearest, unknown

# Names appear in paths and HTML, so only letters, digits and single dashes are safe.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$", max_length=80)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Settings = dict[str, Any]
UNKNOWN_KEY = "unknown_key"  # pydantic's name for an error
OptionValue = JsonValue  # the value of an option: what JSON can hold
Options = dict[str, OptionValue]  # options of a reader, a file format or an objective, by name


class Spec(BaseModel):
    """A frozen model that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="wrap")
    @classmethod
    def _suggest_keys(cls, content: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """Validate; an unknown key is reported with the nearest known one, which then does not count as missing."""
        try:
            return validate(content)
        except ValidationError as error:
            items = error.errors(include_url=False)
            strange = [item for item in items if item["type"] == "extra_forbidden" and len(item["loc"]) == 1]
            if not strange:
                raise
            meant = {("missing", (nearest(item["loc"][0], cls.model_fields),)) for item in strange}
            details = [_detail(item, cls.model_fields) for item in items if (item["type"], item["loc"]) not in meant]
            raise ValidationError.from_exception_data(error.title, details) from None


def _detail(item: ErrorDetails, keys: Iterable[str]) -> InitErrorDetails:
    """Return an error as pydantic takes it; an unknown key gets a message that suggests one of these keys."""
    error_type: str | PydanticCustomError = item["type"]
    if error_type == "extra_forbidden" and len(item["loc"]) == 1:
        error_type = PydanticCustomError(UNKNOWN_KEY, "{text}", {"text": str(unknown("key", item["loc"][0], keys))})
    elif error_type == UNKNOWN_KEY:
        error_type = PydanticCustomError(UNKNOWN_KEY, "{text}", {"text": item["msg"]})
    return InitErrorDetails(type=error_type, loc=item["loc"], input=item["input"], ctx=item.get("ctx", {}))


@dataclass(frozen=True)
class FieldsOf:
    """An annotation of a mapping for JSON schemas: it changes some fields of a model and leaves out the others."""

    model: type[Spec]

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of the model with no field required and no default: what is left out stays as it was."""
        whole = handler.resolve_ref_schema(handler(self.model.__pydantic_core_schema__))["properties"]
        fields = {name: {key: field[key] for key in field if key != "default"} for name, field in whole.items()}
        return {"type": "object", "properties": fields, "additionalProperties": False}


_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeys(_Loader):  # type: ignore[valid-type, misc]
    """A YAML loader that rejects duplicate keys: PyYAML keeps the last one, which could drop a student silently."""


class Key(str):
    """A key of a YAML mapping that knows its line in the file, counted from 1."""

    line: int


class _Marked(_UniqueKeys):
    """A YAML loader that builds mappings with keys of type `Key`."""


def _check_unique(node: yaml.MappingNode) -> None:
    """Raise an error if a mapping gives a key twice."""
    seen = set()
    for key_node, _ in node.value:  # before merging: a key may override one from '<<'
        if key_node.value in seen:
            line = key_node.start_mark.line + 1
            raise RetortError(f"line {line}: '{key_node.value}' is given twice", "rename one of the two")
        seen.add(key_node.value)


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    """Build a mapping; raise an error if a key is given twice."""
    _check_unique(node)
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


def _marked_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    """Build a mapping whose text keys know their lines."""
    _check_unique(node)
    loader.flatten_mapping(node)
    mapping: dict[Hashable, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, str):
            key = Key(key)
            key.line = key_node.start_mark.line + 1
        mapping.pop(key, None)  # a key that overrides one of '<<' keeps its own line
        mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


_UniqueKeys.add_constructor("tag:yaml.org,2002:map", _mapping)
_Marked.add_constructor("tag:yaml.org,2002:map", _marked_mapping)


def read_yaml(path: Path, marked: bool = False) -> Any:
    """Read one YAML file.

    Args:
        path: the file.
        marked: make the keys of mappings `Key`, with their lines.

    Raises:
        RetortError: the file is not UTF-8 text, is not valid YAML, or gives a key twice. The message names the line,
            except for text that is not UTF-8.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=_Marked if marked else _UniqueKeys)
    except UnicodeDecodeError as error:
        raise RetortError(f"not UTF-8 text ({error.reason})", "save the file as UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise RetortError(f"{where}not valid YAML ({getattr(error, 'problem', error)})") from error
