"""The strict base class of all specs, safe names, and a YAML reader that rejects duplicate keys."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints

from retort.errors import RetortError

# Names become parts of paths and HTML, so only letters, digits and single dashes are safe.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$", max_length=80)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Settings = dict[str, Any]
OptionValue = JsonValue  # the value of an option: what JSON can hold
Options = dict[str, OptionValue]  # options of a reader, a file format or an objective, by name


class Spec(BaseModel):
    """A frozen model that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeys(_Loader):  # type: ignore[valid-type, misc]
    """A YAML loader that rejects duplicate keys: PyYAML keeps the last one, which could drop a student silently."""


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    """Build a mapping; raise an error if a key is given twice."""
    seen = set()
    for key_node, _ in node.value:  # before merging: a key may override one from '<<'
        if key_node.value in seen:
            line = key_node.start_mark.line + 1
            raise RetortError(f"line {line}: '{key_node.value}' is given twice", "rename one of the two")
        seen.add(key_node.value)
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


_UniqueKeys.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_yaml(path: Path) -> Any:
    """Read one YAML file.

    Raises:
        RetortError: the file is not UTF-8 text, is not valid YAML, or gives a key twice. The message names the line,
            except for text that is not UTF-8.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=_UniqueKeys)
    except UnicodeDecodeError as error:
        raise RetortError(f"not UTF-8 text ({error.reason})", "save the file as UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise RetortError(f"{where}not valid YAML ({getattr(error, 'problem', error)})") from error
