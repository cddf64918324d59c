"""The strict base class of all specs, safe names, and types that several specs share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Self

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
