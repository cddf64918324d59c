"""Tests of the packages that the project asks for: what is declared is imported, and every pin admits every Python."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from retort.job.forkserver import PRELOADED

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OLDEST = next(iter(SpecifierSet(PROJECT["requires-python"]))).version
NEWEST = "3.14.0"
PINS = {
    canonicalize_name(name): version
    for name, version in (line.split("==") for line in (ROOT / "requirements.lock").read_text().split())
}
INSTALLED = {
    canonicalize_name(each.metadata["Name"]): each.version.partition("+")[0] for each in metadata.distributions()
}
OTHERS = sorted(name for name, version in PINS.items() if INSTALLED.get(name) != version)
of_the_lock = pytest.mark.skipif(bool(OTHERS), reason=f"not in the version of requirements.lock: {', '.join(OTHERS)}")
OPTIONAL = {"triton"}  # builds of torch for CUDA bring it, and it is only imported where it is
# these are parts of what is declared, with versions that it chooses
PARTS = {"markupsafe": "jinja2", "pydantic-core": "pydantic", "snakemake-interface-common": "snakemake",
         "snakemake-interface-logger-plugins": "snakemake"}  # fmt: skip


def declared(requirements: list[str]) -> set[str]:
    """Return the names of the packages that requirements ask for."""
    return {canonicalize_name(Requirement(each).name) for each in requirements}


def imported(*folders: str) -> set[str]:
    """Return the packages that the Python files of folders import, or preload by name."""
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text()))]
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    of_module = metadata.packages_distributions()
    roots = {name.partition(".")[0] for name in (*modules, *PRELOADED)} - set(sys.stdlib_module_names)
    return {canonicalize_name(name) for root in roots for name in of_module.get(root, [])} - {"retort"}


def required(python: str) -> list[tuple[str, Requirement]]:
    """Return who asks for what on Linux with a version of Python, from the project down to the last package."""
    where = {"python_full_version": python, "python_version": ".".join(python.split(".")[:2]), "sys_platform": "linux",
             "platform_system": "Linux", "os_name": "posix", "implementation_name": "cpython"}  # fmt: skip
    of_project = (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"])
    asked = [("retort", Requirement(each)) for each in of_project]
    for _, what in asked:  # it grows
        needed = map(Requirement, metadata.requires(what.name) or [] if canonicalize_name(what.name) in PINS else [])
        asked += [
            (what.name, each)
            for each in needed
            if (what.name, each) not in asked
            if not each.marker or any(each.marker.evaluate({**where, "extra": extra}) for extra in ("", *what.extras))
        ]
    return asked


def test_the_product_declares_what_it_imports_and_nothing_else() -> None:
    of_product = declared(PROJECT["dependencies"])
    assert of_product == {PARTS.get(name, name) for name in imported("workflow") - OPTIONAL}


def test_the_tests_declare_what_they_import_beyond_that() -> None:
    tools = {"mypy", "pandas-stubs", "pytest-xdist", "ruff", "snakefmt", "types-pyyaml"}
    of_tests = declared(PROJECT["optional-dependencies"]["test"])
    needed = {PARTS.get(name, name) for name in imported("tests") - OPTIONAL}
    assert of_tests == tools | (needed - declared(PROJECT["dependencies"]))


@of_the_lock
@pytest.mark.parametrize("python", [OLDEST, NEWEST])
def test_every_pin_admits_the_oldest_and_the_newest_python(python: str) -> None:
    asks = {name: metadata.metadata(name).get("Requires-Python") or "" for name in PINS}
    assert not {
        f"{name} {PINS[name]}: {spec}" for name, spec in asks.items() if not SpecifierSet(spec).contains(python)
    }


@of_the_lock
@pytest.mark.parametrize("python", [OLDEST, NEWEST])
def test_the_lock_has_all_that_is_asked_for_and_nothing_else(python: str) -> None:
    brought = re.compile(r"(cuda|nvidia|triton)\b")  # by torch, as the platform needs
    asked = [(who, what) for who, what in required(python) if not brought.match(what.name)]
    missing = {
        f"{who}: {what}"
        for who, what in asked
        if not what.specifier.contains(PINS.get(canonicalize_name(what.name), "0"), prereleases=True)
    }
    assert not missing
    if python == OLDEST:
        build = {"setuptools"}  # `pip install --no-build-isolation` builds retort with it
        assert set(PINS) - build - {"pip"} == {canonicalize_name(what.name) for _, what in asked} - build


def test_what_is_packed_says_that_it_is_run_from_a_clone_and_on_what() -> None:
    assert "run from a clone" in PROJECT["description"]
    assert "Operating System :: POSIX :: Linux" in PROJECT["classifiers"]
    assert f"Python {OLDEST} or newer" in (ROOT / "README.md").read_text()
