"""The Python files of a study: they register objectives, mappings, metrics and kinds next to those of the package.

A folder of the study holds them by what they register: `objectives/*.py`, `metrics/*.py`, ... The environment names
the folders, so that all processes of a run know them.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from retort.errors import RetortError, first_line

VARIABLE = "RETORT_STUDY"  # the environment variable that lists the folders of the study
FOLDERS = ("objectives", "mappings", "metrics", "tables", "figures")
REGISTRIES = FOLDERS[:3]  # those whose entries are registered under the name that a decorator gives

# what this process has imported: the name of a file or an entry -> file, its lines (a copy may end them otherwise)
imported: dict[str, tuple[Path, list[bytes]]] = {}


def read_from(folders: Iterable[Path]) -> None:
    """Set the folders of the study in this process, and in those that it starts.

    Raises:
        RetortError: this process has imported other code under the name of one of the study's files or entries.
    """
    absolute = [folder.absolute() for folder in folders]
    for path in (path for kind in FOLDERS for path in _files_in(absolute, kind)) if imported else ():
        _check_import(path)
    os.environ[VARIABLE] = json.dumps(list(map(str, absolute)))


def folders() -> tuple[str, ...]:
    """Return the folders of the study; none before a study was read."""
    return _listed(os.environ.get(VARIABLE, "[]"))


@functools.cache
def _listed(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def files(kind: str) -> list[Path]:
    """Return the Python files of the study in the folders of one kind, such as 'objectives'; none of other kinds."""
    return _files_in(folders(), kind) if kind in FOLDERS else []


def _files_in(folders: Iterable[Path | str], kind: str) -> list[Path]:
    return [path for folder in folders for path in sorted(Path(folder, kind).glob("*.py"))]


def name_of(path: Path) -> str:
    """Return the name of a file, which is the same wherever its study lies: 'objectives/absolute'."""
    return f"{path.parent.name}/{path.stem}"


def syntax_tree(file: Path) -> ast.Module:
    """Return the syntax tree of a file.

    Raises:
        RetortError: it is no Python.
    """
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise RetortError(f"{file} is no Python: {error}") from None


def registered_entries(
    tree: ast.Module, registry: str
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef, ast.Call]]:
    """Yield (name, class or function, decorator) for each entry that a module registers at its top, by a literal name.

    Checks and jobs read names here alone, so that they find the same ones.

    Args:
        tree: the module.
        registry: the name of the registry's variable, such as 'objectives'.
    """
    for node in (line for line in tree.body if isinstance(line, ast.ClassDef | ast.FunctionDef)):
        for call in (each for each in node.decorator_list if isinstance(each, ast.Call)):
            given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "name")]
            name = given[0].value if given and isinstance(given[0], ast.Constant) else None
            if isinstance(name, str) and ast.unparse(call.func) == f"{registry}.register":
                yield name, node, call


def registered_names(tree: ast.Module) -> frozenset[str]:
    """Return the names of the objectives, mappings and metrics that a module registers."""
    return frozenset(name for registry in REGISTRIES for name, *_ in registered_entries(tree, registry))


def load(kind: str, name: str) -> None:
    """Import the file that registers a name, if one does; a file that nothing uses is never imported."""
    for path in files(kind):
        if any(name == each for each, *_ in registered_entries(syntax_tree(path), kind)):
            load_file(path)


def load_file(path: Path) -> None:
    """Import a file, unless it, or a copy of it, is imported.

    Raises:
        RetortError: the import fails, or this process has imported other code under a name of the file.
    """
    _check_import(path)
    name = f"retort_study.{name_of(path).replace('/', '.')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if name in sys.modules or spec is None or spec.loader is None:
        return
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    lines = path.read_bytes().splitlines()
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        why = str(error) if isinstance(error, RetortError) else f"{type(error).__name__}: {first_line(error)}"
        raise RetortError(f"{path} cannot be imported: {why}") from error
    imported.update(dict.fromkeys(_names_given(path), (path, lines)))


def _names_given(path: Path) -> list[str]:
    """Return the names that a file takes in a process: its own, and those of the entries that it registers."""
    kind = path.parent.name
    entries = registered_entries(syntax_tree(path), kind) if kind in REGISTRIES else ()
    return [name_of(path), *(f"{kind} '{name}'" for name, *_ in entries)]


def _check_import(path: Path) -> None:
    """Check that this process has imported no other code under a name of a file: registries hold one for all studies.

    Raises:
        RetortError: it has.
    """
    lines = path.read_bytes().splitlines()
    for name in _names_given(path) if imported else ():
        other, held = imported.get(name, (path, lines))
        if held != lines:
            what = f"{path} holds other code for {name} than this process has imported from {other}"
            raise RetortError(what, "start Python anew")
