"""What is registered in code that needs torch, read from its source: names, options, versions, summaries.

Importing an objective imports torch, which takes seconds. `retort check`, `retort list` and the planning of the
workflow only need to know which objectives exist and which options they have. These facts are literals in the source,
so `ast` reads them in milliseconds.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.registry import unknown

# Activations that are computed from others -> those that must be recorded in the model for that.
BASIS = {
    "scores": ("queries", "keys"),
    "cls": ("hidden",),
    "embeddings": ("hidden",),
    "undropped-context": ("queries", "keys", "values"),
    "words": (),  # computed from the input ids
}
AFTER_ATTENTION = ("context", "hidden", "ffn")  # what a layer computes from its attention, at every position
PACKAGE = Path(__file__).resolve().parent.parent


def at_all_positions(activations: Iterable[str]) -> bool:
    """Return whether some activations of a layer are computed after its attention, at every position of a row."""
    needed = {name for each in activations if each != "cls" for name in BASIS.get(each, (each,))}
    return not needed.isdisjoint(AFTER_ATTENTION)


@dataclass(frozen=True)
class Entry:
    """A registered class or function, as its source declares it.

    Args:
        name: the registered name.
        summary: the first line of its docstring.
        version: its version, 1 where it declares none.
        level: what an objective compares: 'layer' a pair of layers, 'layers' all pairs of its mapping at once, 'input'
            the embeddings, 'output' the logits.
        reduction: what of a batch an objective's value is the mean over, one of `COUNTS` in objectives/parts.py;
            'batch' if it needs the whole batch at once.
        activations: the names of the student activations that an objective reads.
        teacher_activations: the same for the teacher; those of the student where it declares none.
        options: option -> default.
        choices: option -> the values that are allowed for it, or for the entries of its list; an option that takes any
            value has no entry.
        types: option without a default, or with the default None -> the names of the types that its annotation allows.
        facts: every attribute of a class whose value is a literal.
    """

    name: str
    summary: str
    version: int
    level: str
    reduction: str
    activations: tuple[str, ...]
    teacher_activations: tuple[str, ...]
    options: dict[str, Any]
    choices: dict[str, tuple[str, ...]]
    types: dict[str, tuple[str, ...]]
    facts: dict[str, Any]


def _registered_as(node: ast.ClassDef | ast.FunctionDef, registry: str) -> str | None:
    """Return the name under which a class or function is registered, or None."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == f"{registry}.register":
            return str(ast.literal_eval(decorator.args[0]))
    return None


def _facts(node: ast.ClassDef | ast.FunctionDef, registry: str) -> dict[str, Any]:
    """Return the keyword arguments of the `register` decorator: name -> literal."""
    calls = [call for call in node.decorator_list if isinstance(call, ast.Call)]
    keywords = [key for call in calls if ast.unparse(call.func) == f"{registry}.register" for key in call.keywords]
    return {key.arg: _literal(key.value) for key in keywords if key.arg}


def _literal(node: ast.expr | None) -> Any:
    """Return the value of an expression if it is a literal, else None."""
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def _attributes(node: ast.ClassDef | ast.FunctionDef) -> dict[str, Any]:
    """Return the attributes that a class body assigns, by name; None for a value that is no literal."""
    attributes: dict[str, Any] = {}
    for line in node.body:
        if isinstance(line, ast.Assign) and len(line.targets) == 1 and isinstance(line.targets[0], ast.Name):
            attributes[line.targets[0].id] = _literal(line.value)
        elif isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            attributes[line.target.id] = _literal(line.value)
    return attributes


def _keywords(node: ast.ClassDef | ast.FunctionDef) -> list[tuple[ast.arg, ast.expr | None]]:
    """Return the keyword-only parameters of a function, or of a class's `__init__`, with their defaults."""
    function: ast.ClassDef | ast.FunctionDef | None = node
    if isinstance(node, ast.ClassDef):
        function = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if not isinstance(function, ast.FunctionDef):
        return []
    return list(zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True))


def _literal_values(annotation: ast.expr | None, aliases: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the values of Literal["a", "b"], of an alias for it, or of a list of it; else an empty tuple."""
    if isinstance(annotation, ast.Name):
        return aliases.get(annotation.id, ())
    if not isinstance(annotation, ast.Subscript):
        return ()
    outer = ast.unparse(annotation.value)
    if outer == "list":
        return _literal_values(annotation.slice, aliases)
    return tuple(ast.literal_eval(ast.unparse(annotation.slice))) if outer == "Literal" else ()


def _types(annotation: ast.expr | None) -> tuple[str, ...]:
    """Return the names of the types in an annotation such as `int | list[float] | None`."""
    return tuple(ast.unparse(annotation).split(" | ")) if annotation is not None else ()


def _aliases(trees: list[ast.Module]) -> dict[str, tuple[str, ...]]:
    """Return the names that a module gives to a Literal type, each with the values of that type."""
    lines = [line for tree in trees for line in tree.body if isinstance(line, ast.Assign)]
    named = {
        line.targets[0].id: _literal_values(line.value, {}) for line in lines if isinstance(line.targets[0], ast.Name)
    }
    return {name: values for name, values in named.items() if values}


def _entry(
    name: str,
    summary: str,
    node: ast.ClassDef | ast.FunctionDef,
    aliases: dict[str, tuple[str, ...]],
    facts: dict[str, Any],
) -> Entry:
    """Return what a registered class or function declares; `aliases` are the names of Literal types."""
    attributes, keywords = {**_attributes(node), **facts}, _keywords(node)
    activations = tuple(attributes.get("activations") or ())
    return Entry(
        name=name,
        summary=summary,
        version=int(attributes.get("version") or 1),
        level=str(attributes.get("level") or "layer"),
        reduction=str(attributes.get("reduction") or ""),
        activations=activations,
        teacher_activations=tuple(attributes.get("teacher_activations", activations) or ()),
        options={argument.arg: _literal(default) for argument, default in keywords},
        choices={
            argument.arg: values
            for argument, _ in keywords
            if (values := _literal_values(argument.annotation, aliases))
        },
        types={
            argument.arg: _types(argument.annotation) for argument, default in keywords if _literal(default) is None
        },
        facts=attributes,
    )


def summary_of(what: str, docstring: str | None) -> str:
    """Return the first line of the docstring of something that is registered.

    Raises:
        RetortError: there is none.
    """
    lines = (docstring or "").strip().splitlines()
    if not lines:
        raise RetortError(f"{what} has no docstring", "write what it does in the first line: `retort list` shows it")
    return lines[0]


@functools.cache
def catalogue(registry: str, *paths: str) -> dict[str, Entry]:
    """Return every entry of one registry by name.

    Args:
        registry: the name of the registry's variable, such as 'objectives'.
        *paths: files or folders, relative to the package, whose source is read.

    Raises:
        RetortError: two entries have the same name, or one has no docstring.
    """
    entries: dict[str, Entry] = {}
    files = [f for path in paths for f in (sorted((PACKAGE / path).glob("*.py")) or [PACKAGE / path])]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    aliases = _aliases(trees)
    for path, tree in zip(files, trees, strict=True):
        for node in ast.walk(tree):
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or not (name := _registered_as(node, registry)):
                continue
            if name in entries:
                raise RetortError(f"two {registry} are called '{name}'", f"rename the one in {path.name}")
            summary = summary_of(f"{path.name}: '{name}'", ast.get_docstring(node))
            entries[name] = _entry(name, summary, node, aliases, _facts(node, registry))
    return dict(sorted(entries.items()))


def objectives() -> dict[str, Entry]:
    """Return every objective by name."""
    return catalogue("objectives", "objectives")


def task_types() -> dict[str, Entry]:
    """Return every task type by name."""
    return catalogue("task_types", "tasks")


def readers() -> dict[str, Entry]:
    """Return every reader of source files by name."""
    return catalogue("readers", "data/readers.py")


def formats() -> dict[str, Entry]:
    """Return every format of a split's files by name."""
    return catalogue("formats", "data/formats.py")


def text_formats() -> dict[str, Entry]:
    """Return every text format of corpora by name."""
    return catalogue("texts", "data/texts.py")


def packers() -> dict[str, Entry]:
    """Return every way to pack documents into blocks by name."""
    return catalogue("packers", "data/packing.py")


def comparisons() -> dict[str, Entry]:
    """Return every comparison, for claims and for the audit, by name."""
    return catalogue("comparisons", "judgement/comparisons.py", "judgement/gains.py", "judgement/groups.py")


# Check the options that a YAML file gives to an objective, a reader or a file format: names, types, ranges.
#
# An objective writes the limits of its numbers as a literal on its class, in pydantic's words, which the catalogue
# reads:
#
#     limits = {"temperature": {"ge": 0.001, "le": 1000}}


# type -> what a message calls its values
TYPE_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "list": "a list",
    "list[float]": "a list of numbers",
    "list[str]": "a list of texts",
}
COMPARED = {"gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}
WORDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
SEED = {"ge": 0, "lt": 2**32}  # the limits of every option that is called 'seed'


def check_options(registered: str, entry: Entry, options: dict[str, Any]) -> list[str]:
    """Return what is wrong with an entry's options: unknown names, wrong types, values that are not allowed.

    Args:
        registered: what the entry is, such as 'objective'.
        entry: the entry.
        options: name of an option -> value.
    """
    problems = []
    for name, value in options.items():
        if name not in entry.options:
            problems.append(str(unknown(f"option of {registered} '{entry.name}'", name, entry.options)))
            continue
        wrong = _wrong_type(entry, name, value)
        checks = (_wrong_list, _wrong_text, _out_of_range)
        texts = [wrong] if wrong else [text for check in checks for text in check(entry, name, value)]
        problems += [f"option '{name}' of {registered} '{entry.name}' {text}" for text in texts]
        if not wrong:
            problems += _not_allowed(registered, entry, name, value)
    return problems


def _is_of(value: Any, type_name: str) -> bool:
    """Return whether a value is of a type; true and false are no numbers, and a type not named here fits any value."""
    if type_name.startswith("list["):
        return isinstance(value, list) and all(_is_of(entry, type_name[5:-1]) for entry in value)
    if type_name in ("int", "float"):
        return isinstance(value, (int, float) if type_name == "float" else int) and not isinstance(value, bool)
    return isinstance(value, {"bool": bool, "str": str, "list": list, "None": type(None)}.get(type_name, object))


def _wrong_type(entry: Entry, name: str, value: Any) -> str | None:
    """Return a message if an option's value has a wrong type, else None."""
    default = entry.options[name]
    types = entry.types.get(name, ()) if default is None else (type(default).__name__,)
    if not types or any(_is_of(value, type_name) for type_name in types):
        return None
    expected = " or ".join(TYPE_NAMES.get(type_name, type_name) for type_name in types if type_name != "None")
    return f"takes {expected}, not {value!r}"


def _wrong_text(entry: Entry, name: str, value: Any) -> Iterator[str]:
    """Yield a message if a text must be one character or the name of an encoding, and is not."""
    if name in entry.facts.get("one_character", ()) and not (len(value) == 1 and value not in "\r\n"):
        yield f"takes one character, not {value!r}"
    if name == "encoding":
        try:
            "a".encode(value)
        except (LookupError, ValueError):  # also of codecs that are no encodings of text
            yield f"takes an encoding such as utf-8 or latin-1, not {value!r}"


def _wrong_list(entry: Entry, name: str, value: Any) -> Iterator[str]:
    """Yield a message if a list is empty, and one if it has a text or a choice twice."""
    if value == []:
        yield "is an empty list; leave it out"
    if isinstance(value, list) and (name in entry.choices or all(isinstance(each, str) for each in value)):
        twice = [each for number, each in enumerate(value) if each in value[:number]]
        yield from (f"lists {each!r} twice" for each in twice[:1])


def _out_of_range(entry: Entry, name: str, value: Any) -> Iterator[str]:
    """Yield a message if a number, or a number of a list, is outside its limits."""
    limits = SEED if name == "seed" else entry.facts.get("limits", {}).get(name, {})
    numbers = [each for each in (value if isinstance(value, list) else [value]) if _is_of(each, "float")]
    wrong = [each for each in numbers if not all(COMPARED[limit](each, bound) for limit, bound in limits.items())]
    if wrong:
        yield f"must be {' and '.join(f'{WORDS[limit]} {bound}' for limit, bound in limits.items())}, not {wrong[0]!r}"


def _not_allowed(registered: str, entry: Entry, name: str, value: Any) -> Iterator[str]:
    """Yield a message for each value of an option, or of its list, that is not one of the option's choices."""
    allowed = entry.choices.get(name, ())
    for each in value if isinstance(value, list) else [value]:
        if allowed and each not in allowed:
            yield str(unknown(f"{name} of {registered} '{entry.name}'", each, allowed))
