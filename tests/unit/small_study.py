"""A study of two students and a teacher on two tasks, whose results are written by hand, not run."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from retort.jobs import Job
from retort.plan import resolve
from retort.specs.config import read_config
from retort.study.cells import expand
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables.base import Inputs, Table, table_of
from retort.tables.make import make_table
from retort.tables.tidy import Line, read

STAMP = {
    "seconds": 2.0,
    "commit": "abc1234",
    "versions": {"python": "3.11"},
    "device": "cpu: <any>",
    "threads": 1,
    "at": "2026-01-02T03:04:05+00:00",
}
SHAPE = {"layers": 2, "heads": 2, "hidden": 8, "intermediate": 16}
SCHEDULE = {"steps": 10, "batch_size": 4, "learning_rate": 0.001}
SPLIT = {"seed": 1, "test": 4, "dev": 2}
SAMPLE = [{"text": "good", "label": 0.5}, {"text": "bad", "label": -0.5}]


def _task(kind: str, **more: Any) -> dict[str, Any]:
    common = {"title": kind, "source": "texts", "split": SPLIT, "max_length": 8, "version": 1}
    return {**common, "task_type": kind, "sample": SAMPLE, **more}


RATED = _task("regression", reader={"name": "rated-texts", "options": {"file": "t", "scale": 4.0}}, metrics=["pearson"])
SIGNED = _task(
    "classification",
    reader={"name": "rated-sentences", "options": {"file": "t", "neutral_below": 0.5}},
    labels=["no", "yes"],
    metrics=["accuracy"],
)
STUDENT = {
    "title": "A student",
    "teacher": "mini-teacher",
    "protocol": "short",
    "architecture": SHAPE,
    "initialisation": {"random": True},
    "stages": [{"data": "task", "terms": [{"objective": "soft-labels"}]}],
}
ROWS = [
    {"student": "mini-teacher", "label": "Teacher", "baseline": True},
    {"student": "mini-a", "label": "A & <b>_1"},
    {"student": "mini-b", "label": "B"},
]
TABLE: dict[str, Any] = {
    "kind": "scores",
    "title": "Two | students",
    "question": "Which <i>one</i>?",
    "columns": [
        {"task": "signed", "metric": "accuracy", "label": "Acc. %", "average": True},
        {"task": "rated", "metric": "pearson", "label": "Pearson", "average": True},
    ],
    "rows": ROWS,
    "published": {"mini-a": {"Acc. %": [70.0, 1.0], "Pearson": [50.0, 1.0]}, "mini-b": {"Acc. %": [60.0, 1.0]}},
}
PROFILES = {"kind": "profiles", "title": "Cost", "question": "How much?", "rows": ROWS[::2],
            "published": {"mini-b": {"Parameters (M)": [1.5], "Latency (ms)": [9.0, 1.0]}}}  # fmt: skip
TESTS = {"kind": "paired-tests", "title": "Tests", "question": "Luck?", "of": ["table1"]}
LAYERS = {"kind": "layers", "title": "Layers", "question": "Which?", "task": "rated", "metric": "pearson",
          "points": {1: "mini-a", 2: "mini-b"}, "references": ROWS[:1]}  # fmt: skip
PARETO = {"kind": "pareto", "title": "Front", "question": "Who?", "task": "rated", "metric": "pearson",
          "points": ROWS[::2]}  # fmt: skip
HEAT = {"kind": "tests", "title": "Heat", "question": "Where?", "of": "table3"}
CLAIM = {"says": "A beats B & <co>.", "where": "section 1", "compare": "above",
         "cells": [{"table": "table1", "rows": ["A & <b>_1"], "columns": ["Acc. %"]}],
         "than": [{"table": "table1", "rows": ["B"], "columns": ["Acc. %"]}]}  # fmt: skip
PAPER = {
    "title": "The mini study", "reference": "Nobody (2026)", "ours": True, "recorded": {"machine": "a <box>"},
    "teachers": {"teacher": {"title": "The teacher", "model": "small", "protocol": "short"}},
    "show": ["table1", "table2", "table3", "figure1", "figure2", "figure3"],
}  # fmt: skip

# student -> task -> one score per seed; None is a diverged seed
SCORES: dict[str, dict[str, list[float | None]]] = {
    "mini-teacher": {"signed": [0.8], "rated": [0.9]},
    "mini-a": {"signed": [0.70, 0.72, 0.74], "rated": [0.50, 0.60, 0.70]},
    "mini-b": {"signed": [0.69, 0.70, 0.71], "rated": [0.40, 0.56, 0.60]},
}


def write_study(folder: Path, **papers_files: Any) -> dict[str, Any]:
    """Write the study's files to `folder` (as JSON, which is valid YAML) and return its configuration."""
    files = {
        "sources/texts": {"title": "Texts", "path": "texts"},
        "models/small": {"title": "Small", "source": "texts", "architecture": SHAPE, "vocabulary": 100},
        "tasks/rated": RATED,
        "tasks/signed": SIGNED,
        "protocols/short": {"title": "Short", "schedule": SCHEDULE, "seeds": [1, 2, 3]},
    }
    shown = {
        "paper": PAPER,
        "students": {"a": STUDENT, "b": STUDENT},
        "table1": TABLE,
        "table2": PROFILES,
        "table3": TESTS,
        "figure1": LAYERS,
        "figure2": PARETO,
        "figure3": HEAT,
        "claims": {"a-beats-b": CLAIM},
    }
    files |= {f"papers/mini/{name}": content for name, content in {**shown, **papers_files}.items()}
    for name, content in files.items():
        path = folder / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return {"papers": ["mini"], "study": str(folder), "precision": "float32"}


def write_results(config: dict[str, Any], scores: dict[str, dict[str, list[float | None]]] = SCORES) -> Study:
    """Write a score and a profile at each address under the current folder, and return the study."""
    study = open_study(read_config(config))
    metric = {"signed": "accuracy", "rated": "pearson"}
    for cell in expand(study):
        value = scores[cell.student][cell.task][cell.seed - 1]
        record = {
            "student": cell.student, "task": cell.task, "seed": cell.seed,
            "status": "ok" if value is not None else "diverged", "step": None if value is not None else 40 + cell.seed,
            "metrics": {} if value is None else {metric[cell.task]: value},
            "settings": resolve.score(study, cell.student, cell.task).as_json(), **STAMP,
        }  # fmt: skip
        path = Path(f"results/scores/{cell.student}/{cell.task}/seed-{cell.seed}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    for student, size, times in (("mini-teacher", 3_000_000, [4.0, 6.0]), ("mini-b", 1_500_000, [2.0, 3.0])):
        record = {"student": student, "parameters": size, "without_embeddings": size // 3, "latency_ms": times,
                  "settings": resolve.profile(study, student).as_json(), **STAMP}  # fmt: skip
        path = Path(f"results/profiles/{student}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    return study


def paths() -> tuple[list[str], list[str]]:
    """Return the paths of all scores and of all profiles under the current folder."""
    return (
        sorted(map(str, Path("results/scores").rglob("*.json"))),
        sorted(map(str, Path("results/profiles").glob("*.json"))),
    )


def quiet() -> Job:
    """Return a job whose log is kept in memory."""
    return Job(name="test", log=io.StringIO())


def line(mean: float | None, published: float | None = None, std: float = 1.0, n: int = 3, **more: Any) -> Line:
    """Return the line of a score, with the same standard deviation for our seeds and for the published ones."""
    given = {"row": "R", "student": "s", "column": "c", "task": "t", **more}
    return Line("p", "table1", metric="accuracy", unit="x100", published=published, published_std=std, mean=mean,
                std=std, n=n, **given)  # fmt: skip


def collected(
    study: Study, table: str, scores: Any = None, profiles: Any = None, paper: str = "mini"
) -> tuple[Table, list[Line]]:
    """Return a table of a study and the lines that it collects from these scores and profiles."""
    spec = table_of(study, paper, table)
    return spec, spec.collect(Inputs(study, paper, table, scores or {}, profiles or {}))


def made(config: dict[str, Any], table: str = "table1", **scores: Any) -> tuple[list[Line], dict[str, str]]:
    """Make a table from these scores; return its tidy lines and its text in each format."""
    write_results(config, {**SCORES, **scores})
    found, profiles = paths()
    renders = {kind: f"out.{kind}" for kind in ("md", "tex", "html")}
    csv = Path(f"results/tables/mini/{table}.csv")
    make_table(quiet(), config, "mini", table, found, profiles, str(csv), renders)
    return read(csv), {kind: Path(path).read_text() for kind, path in renders.items()}
