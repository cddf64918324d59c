"""Tests that imports point one way, and that modules which must start fast do not import torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "workflow" / "retort"
# A subpackage may import itself and those in its set; every module may import the top-level modules of the package.
MAY: dict[str, set[str]] = {
    "specs": set(),
    "study": {"specs"},
    "plan": {"specs", "study", "data"},
    "objectives": set(),
    "data": {"specs"},
    "tasks": {"specs", "data"},
    "models": {"specs", "objectives", "data"},
    "training": {"specs", "objectives", "data", "tasks", "models", "study"},
    "bench": {"specs", "objectives", "models", "training", "cost"},
    "stages": {"specs", "objectives", "data", "tasks", "models", "training", "bench", "study"},
    "tables": {"specs", "study", "plan"},
    "figures": {"specs", "study", "tables"},
    "audit": {"specs", "study", "tables"},
    "cost": {"specs", "study", "plan", "tables"},
    "report": {"specs", "study", "plan", "tables", "audit"},
    "cli": {"specs", "study", "plan", "data", "tasks", "bench", "tables", "audit", "report", "cost"},
}


def rooms_imported(path: Path) -> set[str]:
    """Return the subpackages of the package that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        names += [f"retort.{a.name}" for a in node.names] if names == ["retort"] else []  # type: ignore[attr-defined]
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith("retort.")}
    return found & set(MAY)


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/**/*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0]
    assert rooms_imported(path) - {room} <= MAY[room]


def test_every_room_is_listed() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/*.py")} == set(MAY)


@pytest.mark.parametrize("verb", ["list", "check", "audit", "cost"])
def test_the_command_starts_without_torch(verb: str) -> None:
    code = f"import sys; from retort.cli import main; main(['{verb}']); sys.exit('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(PACKAGE.parent)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_what_is_read_without_torch_is_what_is_registered() -> None:
    from retort.data.packing import packers
    from retort.data.readers import readers
    from retort.data.texts import texts
    from retort.objectives import objectives
    from retort.specs import catalogue
    from retort.tasks import task_types

    assert list(catalogue.objectives()) == list(objectives)
    assert list(catalogue.readers()) == list(readers)
    assert list(catalogue.text_formats()) == list(texts)
    assert list(catalogue.packers()) == list(packers)
    assert list(catalogue.task_types()) == list(task_types)
    for name, entry in catalogue.task_types().items():
        assert entry.facts["metrics"] == task_types[name].metrics
        assert entry.facts["named"] == task_types[name].named
        assert entry.version == task_types[name].version
    for name, entry in catalogue.objectives().items():
        assert entry.version == objectives[name].version
        assert entry.level == getattr(objectives[name], "level", "layer")
        assert entry.activations == objectives[name].activations
        assert entry.teacher_activations == getattr(
            objectives[name], "teacher_activations", objectives[name].activations
        )
        assert entry.summary.endswith(".")
