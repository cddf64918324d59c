"""Turn the JSON schemas that pydantic makes of models into those of YAML files.

Most files hold one model. For a file with another layout, a function here changes the schema of the model.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

NAME = r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$"
ANCHORS = {"description": "YAML anchors"}
PLACEHOLDER = {"type": "string", "pattern": r"\{.+\}", "description": "{axis}, or {axis.key} for what a value has"}
AXES = {
    "type": "object",
    "description": "axes that several families use: axis -> value -> what it sets",
    "additionalProperties": {"$ref": "#/$defs/Axis"},
}
FAMILY = {
    "for_each": {
        "type": "object",
        "description": "axis -> value -> what it sets; of an axis of `axes`: all, or a list of its values",
        "additionalProperties": {"anyOf": [{"const": "all"}, {"type": "array"}, {"$ref": "#/$defs/Axis"}]},
    },
    "except": {
        "type": "array",
        "description": "combinations that are left out: axis -> value, or values",
        "items": {"type": "object"},
    },
}


class Generator(GenerateJsonSchema):
    """Write draft 7, the newest one that all YAML editors read, without titles that only repeat a key."""

    schema_dialect = "http://json-schema.org/draft-07/schema#"

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False: no field has a title."""
        return False

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        """Return the schema of a tuple, whose entries draft 7 calls items."""
        written = super().tuple_schema(schema)
        return {"items" if key == "prefixItems" else key: value for key, value in written.items()}


def one_entry(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a file that holds one entry, which is the schema of the model."""
    return schema


def by_name(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a file that maps names to entries; a key that starts with '_' only holds YAML anchors."""
    entry = {key: value for key, value in schema.items() if key != "$defs"}
    return {
        "$defs": {**schema.get("$defs", {}), entry["title"]: entry},
        "type": "object",
        "patternProperties": {NAME: _ref(entry["title"]), "^_": ANCHORS},
        "additionalProperties": False,
    }


def _ref(title: str) -> JsonSchemaValue:
    return {"$ref": f"#/$defs/{title}"}


def with_families(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a file that maps names to entries or, for a name with placeholders, to families of them.

    In a family no field is required, because an axis may set it, and `{axis}` may stand for any value.
    """
    whole, entry = by_name(schema), schema["title"]
    definitions = {_in_family(name): _optional(definition) for name, definition in whole["$defs"].items()}
    member = definitions[_in_family(entry)]
    axis = {"type": "object", "additionalProperties": {"anyOf": [_keys(member), {"type": "null"}]}}
    definitions[_in_family(entry)] = {
        **member,
        "description": "A family: an entry for each combination of one value per axis.",
        "properties": {**FAMILY, **member["properties"]},
        "required": ["for_each"],
    }
    return {
        **whole,
        "$defs": {**whole["$defs"], **definitions, "Axis": axis, "Placeholder": PLACEHOLDER},
        "properties": {"axes": AXES},
        "patternProperties": {
            NAME.replace("^", "^(?!axes$)", 1): _ref(entry),
            r"\{": _ref(_in_family(entry)),
            "^_": ANCHORS,
        },
    }


def _in_family(name: str) -> str:
    return f"{name}InFamily"


def _keys(entry: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a value of an axis: fields of an entry, and any other keys, for placeholders."""
    return {key: value for key, value in entry.items() if key not in ("title", "additionalProperties", "description")}


def _optional(schema: Any) -> Any:
    """Return a schema without required fields, in which a placeholder may stand for any field or item."""
    if isinstance(schema, list):
        return [_optional(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    changed: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "required":
            continue
        if key == "$ref":
            changed[key] = _in_family(value)
        elif key in ("properties", "patternProperties"):
            changed[key] = {name: _or_placeholder(entry) for name, entry in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            changed[key] = _or_placeholder(value)
        elif key == "anyOf":
            changed[key] = _optional(value)
        elif key != "default":
            changed[key] = value
    return changed


def _or_placeholder(schema: JsonSchemaValue) -> JsonSchemaValue:
    described = {"description": schema["description"]} if "description" in schema else {}
    rest = {key: value for key, value in schema.items() if key != "description"}
    return {**described, "anyOf": [_optional(rest), _ref("Placeholder")]}
