"""Read YAML files strictly: a value that YAML 1.1 silently reads as something else is an error that names the line.

For example, PyYAML keeps the last of two equal keys, which could drop a student, and reads 010 as 8 and 1:30 as 90.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, NoReturn

import yaml

from retort.errors import RetortError

WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
DECIMAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
LONGEST = 300  # digits of a number
DEEPEST = 100  # levels of lists and mappings
LARGEST = 1 << 22  # characters of a file, also with its aliases written out
TOO_DEEP = "lists or mappings are nested too deep", "a file of a study has a few levels"
_TAG = "tag:yaml.org,2002:"
_NO_TEXT = (f"{_TAG}bool", f"{_TAG}null")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A YAML loader with strict keys and numbers."""

    levels = 0

    def descend_resolver(self, parent: Any, _: object) -> None:
        """Count one more level. PyYAML calls this before each node; very many levels would overflow its C stack."""
        self.levels += 1
        if self.levels > DEEPEST:
            _refuse(parent, *TOO_DEEP)

    def ascend_resolver(self) -> None:
        """Count one level less."""
        self.levels -= 1


class Key(str):
    """A key of a YAML mapping that knows its line in the file, counted from 1."""

    line: int


class _Marked(_Loader):
    """A YAML loader that builds mappings with keys of type `Key`."""


def _refuse(node: yaml.Node, what: str, hint: str) -> NoReturn:
    """Raise the error for a node, with its line."""
    raise RetortError(f"line {node.start_mark.line + 1}: {what}", hint)


def _characters(node: yaml.Node, known: dict[yaml.Node, int]) -> int:
    """Return the number of characters of a list or mapping with its aliases written out; refuse too many.

    Args:
        node: the list or mapping; aliases may repeat parts of it.
        known: node -> its number of characters, for nodes that were counted already.
    """
    if node not in known:
        known[node] = 0  # a node that holds itself is refused when it is built
        known[node] = sum(
            len(part.value) + 1 if isinstance(part, yaml.ScalarNode) else _characters(part, known)
            for part in (itertools.chain(*node.value) if isinstance(node, yaml.MappingNode) else node.value)
        )
        if known[node] > LARGEST:
            _refuse(node, f"more than {LARGEST >> 20} MiB with its aliases written out", "use fewer aliases (*)")
    return known[node] + 2


def _check_keys(node: yaml.MappingNode) -> None:
    """Raise an error if a mapping gives a key twice, or has a key that is no text and no number."""
    seen = set()
    for key_node, _ in node.value:  # before merging: a key may override one from '<<'
        if not isinstance(key_node, yaml.ScalarNode):
            _refuse(key_node, "a list or a mapping stands as a key", "put a text that begins with { or [ in quotes")
        if key_node.tag in _NO_TEXT:
            _refuse(key_node, f"YAML reads the key {key_node.value or 'that is empty'} as no text", "put it in quotes")
        if key_node.value in seen:
            _refuse(key_node, f"'{key_node.value}' is given twice", "rename one of the two")
        seen.add(key_node.value)


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    """Build a mapping; raise an error if a key is given twice."""
    _check_keys(node)
    return loader.construct_mapping(node, deep=True)


def _marked_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    """Build a mapping whose text keys know their lines."""
    _check_keys(node)
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


def _whole_number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    """Return a decimal whole number; refuse 010 (an octal 8), 0x1F, 0b11, 1_000 and 1:30 (90)."""
    if not WHOLE.fullmatch(node.value):
        read = f"YAML reads {node.value} as {loader.construct_yaml_int(node)}"
        _refuse(node, read, "write the number with decimal digits only, or a text in quotes")
    if len(node.value) > LONGEST:
        _refuse(node, f"a number of {len(node.value)} digits", "put a text in quotes")
    return int(node.value)


def _number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    """Return a decimal number that is finite; refuse 1:30.5 (90.5), .inf, .nan and 1e999."""
    if not DECIMAL.fullmatch(node.value):
        _refuse(
            node, f"{node.value} is no number in decimal digits", "write one such as 0.5 or 1e-3, or a text in quotes"
        )
    value = float(node.value)
    if not math.isfinite(value):
        _refuse(node, f"{node.value} is too large", "numbers go up to 1e308")
    return value


def _nothing(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> None:
    """Check that a value with the tag !!null is null, or missing."""
    if node.value.lower() not in ("", "~", "null"):
        raise ValueError


def _text(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    """Return a date, or a lone '=', as the text that it is written as."""
    return str(loader.construct_scalar(node))


def _unknown_tag(loader: yaml.SafeLoader, node: yaml.Node) -> NoReturn:
    """Refuse a tag such as !!set or !!binary, whose values no file of a study holds."""
    _refuse(
        node,
        f"the tag {node.tag.replace(_TAG, '!!')} is of no use here",
        "remove it; write lists, mappings, texts, numbers",
    )


def _add(to: type[_Loader], tag: str, kind: type[yaml.Node], construct: Callable[[Any, Any], Any]) -> None:
    """Let a loader build the values of a tag with `construct`, and refuse others, such as `!!int abc`."""

    def build(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        try:
            if isinstance(node, kind):
                return construct(loader, node)
        except (ValueError, LookupError):
            pass
        _refuse(node, f"what stands here is no !!{tag}", "remove the tag, or put a text in quotes")

    to.add_constructor(f"{_TAG}{tag}", build)


for _tag in ("binary", "set", "omap", "pairs"):
    _Loader.add_constructor(f"{_TAG}{_tag}", _unknown_tag)
for _tag, _construct in (
    ("null", _nothing),
    ("bool", _Loader.construct_yaml_bool),
    ("int", _whole_number),
    ("float", _number),
    ("timestamp", _text),
    ("value", _text),
):
    _add(_Loader, _tag, yaml.ScalarNode, _construct)
_Loader.add_constructor(None, _unknown_tag)
_add(_Loader, "map", yaml.MappingNode, _mapping)
_add(_Marked, "map", yaml.MappingNode, _marked_mapping)
# PyYAML takes 1e-3 for a text, as it has no point
_Loader.add_implicit_resolver(
    f"{_TAG}float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def _load(text: str, kind: type[_Loader]) -> Any:
    """Return what a text in YAML holds."""
    loader = kind(text)
    try:
        node = loader.get_single_node()
        if "&" in text and isinstance(node, yaml.CollectionNode):  # an alias needs an anchor
            _characters(node, {})
        return None if node is None else loader.construct_document(node)
    finally:
        loader.dispose()


def read_yaml(path: Path, marked: bool = False) -> Any:
    """Read one YAML file.

    Args:
        path: the file.
        marked: make the keys of mappings `Key`, with their lines.

    Raises:
        RetortError: the file cannot be opened, is too large or nested too deep, is not UTF-8 text, is not valid YAML,
            gives a key twice, or has a value that YAML reads as something else than it looks like. The message names
            the line, if there is one.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise RetortError(f"larger than {LARGEST >> 20} MiB", "a file of a study is smaller")
        return _load(text, _Marked if marked else _Loader)
    except OSError as error:
        kind = "link to a file that does not exist" if path.is_symlink() and not path.exists() else error.strerror
        raise RetortError(f"cannot be read ({kind})", "put a file here that you may read, or remove it") from error
    except UnicodeDecodeError as error:
        raise RetortError(f"not UTF-8 text ({error.reason})", "save the file as UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise RetortError(f"{where}not valid YAML ({problem})") from error
    except RecursionError as error:
        raise RetortError(*TOO_DEEP) from error
