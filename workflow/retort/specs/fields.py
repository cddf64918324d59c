"""How fields of specs are declared: left out of settings, changes of a model's fields, and mistakes below a field."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import Field, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from retort.specs.base import Spec, detail, documented


def left_out(default: Any = None, **limits: Any) -> Any:
    """Return a field that settings leave out where it has its default, so that those without it do not change."""
    return Field(default=default, exclude_if=lambda value: value == default, **limits)


@dataclass(frozen=True)
class FieldsOf:
    """An annotation of a mapping, for its JSON schema: the mapping changes some fields of a model.

    Args:
        model: the model.
        beside: (key, description) of a text that must stand beside the fields, if there is one.
    """

    model: type[Spec]
    beside: tuple[str, str] | None = None

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of the model without required fields and defaults: fields left out are not changed."""
        whole = handler.resolve_ref_schema(handler(self.model.__pydantic_core_schema__))["properties"]
        said = documented(self.model)[1]
        fields = {
            name: {**{key: field[key] for key in field if key != "default"}, "description": said[name]}
            for name, field in whole.items()
        }
        if self.beside is None:
            return {"type": "object", "properties": fields, "additionalProperties": False}
        fields[self.beside[0]] = {"type": "string", "description": self.beside[1]}
        return {
            "type": "object", "properties": fields, "required": [self.beside[0]], "additionalProperties": False
        }  # fmt: skip


@contextmanager
def below(*keys: str) -> Iterator[None]:
    """Locate what pydantic finds wrong in the block below some keys."""
    try:
        yield
    except ValidationError as error:
        details = [detail(item, below=keys) for item in error.errors(include_url=False)]
        raise ValidationError.from_exception_data(error.title, details) from None
