"""Read YAML files strictly: a value that YAML 1.1 silently reads as something else is an error that names the line.

For example, PyYAML keeps the last of two equal keys, which could drop a student, and reads 010 as 8 and 1:30 as 90.
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Any, NoReturn

import yaml

from retort.errors import RetortError, check_file

WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
DECIMAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
LONGEST = 300  # digits of a number
DEEPEST = 100  # levels of lists and mappings
LARGEST = 1 << 22  # characters of a file, also with its aliases written out
TOO_DEEP = "lists or mappings are nested too deep", "a file of a study has a few levels"
_TAG = "tag:yaml.org,2002:"
_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Key(str):
    """A key of a YAML mapping that knows its line in the file, counted from 1."""

    line: int


def _refuse(node: yaml.Node, what: str, hint: str) -> NoReturn:
    """Raise the error for a node, with its line."""
    raise RetortError(f"line {node.start_mark.line + 1}: {what}", hint)


def _whole_number(loader: _Loader, node: yaml.ScalarNode) -> int:
    """Return a decimal whole number; refuse 010 (an octal 8), 0x1F, 0b11, 1_000 and 1:30 (90)."""
    if not WHOLE.fullmatch(node.value):
        hint = "write it with decimal digits only, or a text in quotes"
        _refuse(node, f"YAML reads {node.value} as another number", hint)
    if len(node.value) > LONGEST:
        _refuse(node, f"a number of {len(node.value)} digits", "put a text in quotes")
    return int(node.value)


def _number(loader: _Loader, node: yaml.ScalarNode) -> float:
    """Return a decimal number that is finite; refuse 1:30.5 (90.5), .inf, .nan and 1e999."""
    if not DECIMAL.fullmatch(node.value):
        hint = "write one such as 0.5 or 1e-3, or a text in quotes"
        _refuse(node, f"{node.value} is no number in decimal digits", hint)
    value = float(node.value)
    if not math.isfinite(value):
        _refuse(node, f"{node.value} is too large", "numbers go up to 1e308")
    return value


def _text(loader: _Loader, node: yaml.ScalarNode) -> str:
    """Return a text; a date, or a lone '=', is the text that it is written as."""
    return str(node.value)


SCALARS = {
    "str": _text,
    "int": _whole_number,
    "float": _number,
    "bool": lambda loader, node: loader.bool_values[node.value.lower()],
    "null": lambda loader, node: {"": None, "~": None, "null": None}[node.value.lower()],
    "timestamp": _text,
    "value": _text,
    "merge": _text,
}


class _Loader(_BASE):  # type: ignore[misc]
    """A YAML loader with strict keys and numbers; PyYAML parses, and this class builds the values.

    Args:
        text: the text in YAML.
        marked: make the keys of mappings know their lines.
    """

    def __init__(self, text: str, marked: bool) -> None:
        super().__init__(text)
        self.marked, self.levels = marked, 0
        self.built: dict[yaml.Node, Any] = {}  # list or mapping -> its value; None while that is built

    def descend_resolver(self, parent: Any, _: object) -> None:
        """Count one more level. PyYAML calls this before each node; very many levels would overflow its C stack."""
        self.levels += 1
        if self.levels > DEEPEST:
            _refuse(parent, *TOO_DEEP)

    def ascend_resolver(self) -> None:
        """Count one level less."""
        self.levels -= 1

    def build(self, node: yaml.Node) -> Any:
        """Return the value of a node."""
        if isinstance(node, yaml.ScalarNode):
            return SCALARS[node.tag.removeprefix(_TAG)](self, node)
        return self.collection(node)

    def collection(self, node: yaml.Node) -> Any:
        """Return a list or a mapping; one that an alias repeats is built once."""
        if node not in self.built:
            self.built[node] = None
            if isinstance(node, yaml.MappingNode):
                self.built[node] = self.mapping(node)
            else:
                self.built[node] = [self.build(part) for part in node.value]
        elif self.built[node] is None:
            _refuse(node, "what stands here holds itself", "remove the alias (*)")
        return self.built[node]

    def mapping(self, node: yaml.MappingNode) -> dict[Any, Any]:
        """Return a mapping; refuse a key that is given twice, or is no text and no number."""
        seen = set()
        for key, _ in node.value:  # before merging: a key may override one from '<<'
            if not isinstance(key, yaml.ScalarNode):
                _refuse(key, "a list or a mapping stands as a key", "put a text that begins with { or [ in quotes")
            if key.tag in (f"{_TAG}bool", f"{_TAG}null"):
                _refuse(key, f"YAML reads the key {key.value or 'that is empty'} as no text", "put it in quotes")
            if key.value in seen:
                _refuse(key, f"'{key.value}' is given twice", "rename one of the two")
            seen.add(key.value)
        self.flatten_mapping(node)
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.build(key_node)
            if self.marked and isinstance(key, str):
                key = Key(key)
                key.line = key_node.start_mark.line + 1
                mapping.pop(key, None)  # a key that overrides one of '<<' keeps its own line
            mapping[key] = self.build(value_node)
        return mapping


# PyYAML takes 1e-3 for a text, as it has no point
_Loader.add_implicit_resolver(
    f"{_TAG}float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def _characters(node: yaml.Node, known: dict[yaml.Node, int]) -> int:
    """Return the number of characters of a node with its aliases written out; refuse too many.

    Args:
        node: the node; aliases may repeat parts of it.
        known: list or mapping -> its number of characters, for those that were counted already.
    """
    if isinstance(node, yaml.ScalarNode):
        return len(node.value) + 1
    if node not in known:
        known[node] = 0  # a node that holds itself is refused when it is built
        parts = itertools.chain(*node.value) if isinstance(node, yaml.MappingNode) else node.value
        known[node] = sum(_characters(part, known) for part in parts)
        if known[node] > LARGEST:
            _refuse(node, f"more than {LARGEST >> 20} MiB with its aliases written out", "use fewer aliases (*)")
    return known[node] + 2


def _load(text: str, marked: bool) -> Any:
    """Return what a text in YAML holds; refuse tags such as !!int."""
    for token in yaml.scan(text, Loader=_BASE) if "!" in text else ():
        if isinstance(token, yaml.TagToken):
            tag, line = "".join(filter(None, token.value)), token.start_mark.line + 1
            raise RetortError(f"line {line}: the tag {tag} is of no use here", "remove it, or put a text in quotes")
    loader = _Loader(text, marked)
    try:
        node = loader.get_single_node()
        if node is not None and "&" in text:  # an alias needs an anchor
            _characters(node, {})
        return None if node is None else loader.build(node)
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
    check_file(path)
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise RetortError(f"larger than {LARGEST >> 20} MiB", "a file of a study is smaller")
        return _load(text, marked)
    except OSError as error:
        kind = "link to a file that does not exist" if path.is_symlink() and not path.exists() else error.strerror
        raise RetortError(f"cannot be read ({kind})", "put a file here that you may read, or remove it") from error
    except UnicodeDecodeError as error:
        raise RetortError(f"not UTF-8 text ({error.reason})", "save the file as UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        if "maximum nesting depth" in problem:  # PyYAML's own limit, met where it reads ahead
            raise RetortError(f"{where}{TOO_DEEP[0]}", TOO_DEEP[1]) from error
        raise RetortError(f"{where}not valid YAML ({problem})") from error
    except RecursionError as error:
        raise RetortError(*TOO_DEEP) from error
