"""What is registered in code: names, summaries, versions, options, and what objectives require of the sizes of models.

Importing an objective imports torch, which takes seconds. `retort check`, `retort list` and the planning of the
workflow only ask which objectives exist, which options they have and what they read. Their classes declare this with
literals and annotations, which are read here from the source, in milliseconds:

    @objectives.register("soft-labels")
    class SoftLabels:
        version = 1
        limits = {"temperature": {"ge": 0.001, "le": 1000}}  # in the words of pydantic's `Field`

        def __init__(self, shapes: Pair, *, temperature: float = 1.0, squared: bool = True) -> None: ...
"""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationError, create_model

from retort import own_code
from retort.errors import RetortError
from retort.registry import unknown_name
from retort.specs.base import Relative, Settings, Spec, below_keys
from retort.specs.loading import readable_mistakes

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
Aliases = dict[str, object]  # the names that annotations may use for Literal types -> those types
SEED = {"ge": 0, "lt": 2**32}  # the limits of every option that is called 'seed'


def at_all_positions(activations: Iterable[str]) -> bool:
    """Return whether some activations of a layer are computed after its attention, at every position of a row."""
    needed = {name for each in activations if each != "cls" for name in BASIS.get(each, (each,))}
    return not needed.isdisjoint(AFTER_ATTENTION)


# The types that annotations of options may name. They are as strict as the fields of YAML files: true is no number.


def _codec(name: str) -> str:
    try:
        "a".encode(name)
    except (LookupError, ValueError):  # also of codecs that are no encodings of text
        raise ValueError(f"give an encoding such as utf-8 or latin-1, not {name!r}") from None
    return name


def _texts_once(values: list[Any]) -> list[Any]:
    twice = [value for number, value in enumerate(values) if isinstance(value, str) and value in values[:number]]
    if twice:
        raise ValueError(f"{twice[0]!r} is listed twice")
    return values


Item = TypeVar("Item")
Listed = Annotated[list[Item], Field(min_length=1), AfterValidator(_texts_once)]


def _types(option: str, limits: Mapping[str, Any]) -> dict[str, object]:
    """Return the types that the annotation of an option may name; its limits are those of its numbers or texts."""
    limited = Field(**(SEED if option == "seed" else limits))
    texts = {"encoding": Annotated[str, AfterValidator(_codec)], "file": Relative}
    text = texts.get(option, Annotated[str, limited])
    numbers = {kind.__name__: Annotated[kind, Field(strict=True), limited] for kind in (int, float)}
    return {**numbers, "bool": Annotated[bool, Field(strict=True)], "str": text, "list": Listed, "Literal": Literal}


@dataclass(frozen=True)
class Registered:
    """A registered class or function, as its source declares it.

    Args:
        name: the registered name.
        summary: the first line of its docstring.
        facts: what its class assigns in its body, or its `register` gets as keywords, where the value is a literal.
        options: option -> default; None for an option that must be given.
        required: the options that must be given.
        annotations: option -> its annotation.
        aliases: the names that annotations may use for Literal types -> those types.
        file: where it stands.
    """

    name: str
    summary: str
    facts: dict[str, Any]
    options: dict[str, Any]
    required: frozenset[str]
    annotations: dict[str, str]
    aliases: Aliases
    file: Path

    @property
    def version(self) -> int:
        """Its version, 1 where it declares none."""
        return int(self.facts.get("version", 1))

    @property
    def level(self) -> str:
        """What an objective compares.

        'layer': a pair of layers; 'layers': all pairs of its mapping at once; 'input': the embeddings; 'output': the
        logits.
        """
        return str(self.facts.get("level", "layer"))

    @property
    def activations(self) -> tuple[str, ...]:
        """The names of the student activations that an objective reads."""
        return tuple(self.facts.get("activations", ()))

    @property
    def teacher_activations(self) -> tuple[str, ...]:
        """The names of the teacher activations that an objective reads: those of the student where it names none."""
        return tuple(self.facts.get("teacher_activations", self.activations))

    @functools.cached_property
    def types(self) -> dict[str, object]:
        """Option -> its type, with its limits."""
        limits = self.facts.get("limits", {})
        types = {option: _types(option, limits.get(option, {})) for option in self.options}
        return {option: eval(text, types[option], self.aliases) for option, text in self.annotations.items()}

    @functools.cached_property
    def schema(self) -> type[Spec]:
        """The model of the options that a YAML file may give."""
        default = {**self.options, **dict.fromkeys(self.required, ...)}
        fields: dict[str, Any] = {name: (kind, default[name]) for name, kind in self.types.items()}
        return create_model(self.name, __base__=Spec, **fields)

    def check(self, options: Settings) -> None:
        """Check the options that a YAML file gives under the key 'options'.

        Raises:
            pydantic.ValidationError: one is unknown or missing, or has a value that is not allowed.
        """
        with below_keys("options"):
            self.schema.model_validate(options)


def wrong_options(entry: Registered, options: Settings, where: str) -> list[str]:
    """Return what is wrong with the options that a YAML file gives to an entry, one line each.

    Args:
        entry: the entry.
        options: option -> value.
        where: the key of the options in the file.
    """
    try:
        entry.schema.model_validate(options)
    except ValidationError as error:
        return readable_mistakes(error, options, where)
    return []


# Reading the sources.


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Yield each name to which a line of a module or a class assigns something, and what."""
    for line in body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and line.value:
            yield ast.unparse(line.targets[0] if isinstance(line, ast.Assign) else line.target), line.value


def _literals(named: Iterable[tuple[str | None, ast.expr | None]]) -> dict[str, object]:
    """Return the values that are literals, by name."""
    values = {}
    for name, value in named:
        if name and value:
            with contextlib.suppress(ValueError):
                values[name] = ast.literal_eval(value)
    return values


def _entry(name: str, node: ast.ClassDef | ast.FunctionDef, call: ast.Call, aliases: Aliases, file: Path) -> Registered:
    """Return what a class or function declares that the decorator `call` registers."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    functions = {line.name: line for line in [*body, node] if isinstance(line, ast.FunctionDef)}
    function = functions.get("__init__" if body else node.name)
    options = list(zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)) if function else []
    return Registered(
        name=name,
        summary=(ast.get_docstring(node) or "").partition("\n")[0],
        facts=_literals([*_assigned(body), *((fact.arg, fact.value) for fact in call.keywords)]),
        options={each.arg: None for each, _ in options} | _literals((each.arg, default) for each, default in options),
        required=frozenset(each.arg for each, default in options if default is None),
        annotations={each.arg: ast.unparse(each.annotation) for each, _ in options if each.annotation},
        aliases=aliases,
        file=file,
    )


def catalogue(registry: str, *paths: str) -> dict[str, Registered]:
    """Return every entry of one registry by name, those of the study's files behind those of the package.

    Args:
        registry: the name of the registry's variable, such as 'objectives'.
        *paths: files or folders, relative to the package, whose source is read.

    Raises:
        RetortError: a file of the study is no Python, or registers a name that another file has.
    """
    return _catalogue(registry, paths, own_code.folders())


@functools.cache
def _catalogue(registry: str, paths: tuple[str, ...], _: tuple[str, ...]) -> dict[str, Registered]:
    shipped, aliases = _shipped(registry, paths)
    own = _read(registry, own_code.files(registry), aliases)[0]
    entries: dict[str, Registered] = {}
    for entry in (*shipped, *own):
        if entry.name in entries:
            both = f"{entries[entry.name].file} and {entry.file}"
            raise RetortError(f"two {registry} are called '{entry.name}', in {both}", "rename one")
        entries[entry.name] = entry
    return dict(sorted(entries.items()))


@functools.cache
def _shipped(registry: str, paths: tuple[str, ...]) -> tuple[list[Registered], Aliases]:
    """Return what `_read` returns of files of the package, which stay the same whatever study is read."""
    files = [file for path in paths for file in (sorted((PACKAGE / path).glob("*.py")) or [PACKAGE / path])]
    return _read(registry, files, {})


def _read(registry: str, files: Iterable[Path], known: Aliases) -> tuple[list[Registered], Aliases]:
    """Return what files register, and the names that their annotations may use for types: also the `known` ones."""
    trees = {file: own_code.syntax_tree(file) for file in files}
    types = [(name, ast.unparse(value)) for tree in trees.values() for name, value in _assigned(tree.body)]
    aliases = known | {name: eval(text, {"Literal": Literal}) for name, text in types if text.startswith("Literal[")}
    entries = [
        _entry(name, node, call, aliases, file)
        for file, tree in trees.items()
        for name, node, call in own_code.registered_entries(tree, registry)
    ]
    return entries, aliases


objectives = functools.partial(catalogue, "objectives", "objectives")
mappings = functools.partial(catalogue, "mappings", "specs/mappings.py")  # of layers
task_types = functools.partial(catalogue, "task_types", "tasks")
formats = functools.partial(catalogue, "formats", "data/formats.py")  # of a split's files
text_formats = functools.partial(catalogue, "texts", "data/texts.py")  # of corpora
packers = functools.partial(catalogue, "packers", "data/packing.py")  # of documents into blocks
comparisons = functools.partial(catalogue, "comparisons", "judgement/comparisons.py", "judgement/groups.py")
metrics = functools.partial(catalogue, "metrics", "tasks/metrics.py")  # of task types with one label per row


def metrics_of(task_type: str) -> tuple[str, ...]:
    """Return the metrics of a task type: those that its class names, or those that are registered for it."""
    named: tuple[str, ...] = task_types()[task_type].facts.get("metrics", ())
    return named or tuple(name for name, entry in metrics().items() if entry.facts["of"] == task_type)


def registered(noun: str, entries: Callable[[], Mapping[str, Registered]]) -> AfterValidator:
    """Return a check that a name is that of a registered entry; `noun` says of what, such as 'format'."""

    def check(name: str) -> str:
        if name not in entries():
            raise ValueError(str(unknown_name(noun, name, entries())))
        return name

    return AfterValidator(check)
