"""Results of the variant of the tiny study, written by hand instead of run, and what is made from them."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pandas import DataFrame
from retort.checksums import with_digest
from retort.job.context import RunningJob
from retort.plan import resolve
from retort.results.frames import Line, frame_of, lines_of, read, seed_text
from retort.specs.config import read_config
from retort.study.addresses import SCORE_FILE, answers_address, profile_address, score_file_of_seed
from retort.study.cells import expand
from retort.study.load import open_study
from retort.study.questions import further_timings
from retort.study.study import Study
from retort.tables.base import Inputs, Table, table_of
from retort.tables.make import make_table

STAMP = {
    "seconds": 2.0,
    "commit": "abc1234",
    "code": "0123abcd",
    "versions": {"python": "3.11"},
    "device": "cpu: <any>",
    "threads": 1,
    "at": "2026-01-02T03:04:05+00:00",
}

# student -> task -> one score per seed; None is a diverged seed
SCORES: dict[str, dict[str, list[float | None]]] = {
    "tiny-teacher": {"mood": [0.8], "rating": [0.9]},
    "tiny-kd": {"mood": [0.70, 0.72, 0.74], "rating": [0.50, 0.60, 0.70]},
    "tiny-attention": {"mood": [0.69, 0.70, 0.71], "rating": [0.40, 0.56, 0.60]},
}


def opened(config: dict[str, Any]) -> Study:
    """Return the study of a configuration."""
    return open_study(read_config(config))


def write_results(config: dict[str, Any], scores: dict[str, dict[str, list[float | None]]] = SCORES) -> Study:
    """Write the scores and profiles of all cells below the current folder, and return the study.

    The configuration's `seeds_divided` gives the seeds of a student on a task files of their own.
    """
    study = opened(config)
    metric = {"mood": "accuracy", "rating": "pearson"}
    files: dict[str, dict[int, tuple[dict[str, Any], float | None]]] = {}
    for cell in expand(study):
        value = scores[cell.student][cell.task][cell.seed - 1]
        record = {
            "student": cell.student, "task": cell.task, "seed": cell.seed,
            "status": "ok" if value is not None else "diverged", "step": None if value is not None else 40 + cell.seed,
            "metrics": {} if value is None else {metric[cell.task]: value},
            "settings": resolve.score(study, cell.student, cell.task).as_json(), **STAMP,
        }  # fmt: skip
        path = score_file_of_seed(study, cell.student, cell.task, cell.seed)
        files.setdefault(path, {})[cell.seed] = record, value
    for path, seeds in files.items():
        write_scores(Path(path), list(seeds.values()))
    for student, size, times in (("tiny-teacher", 3_000_000, [4.0, 6.0]), ("tiny-attention", 1_500_000, [2.0, 3.0])):
        record = {"student": student, "parameters": size, "without_embeddings": size // 3, "latency_ms": times,
                  "settings": resolve.profile(study, student, further_timings(study)).as_json(), **STAMP}  # fmt: skip
        profile = Path(profile_address(student))
        profile.parent.mkdir(parents=True, exist_ok=True)
        profile.write_text(json.dumps(with_digest(record)))
    return study


def write_scores(path: Path, scores: list[tuple[dict[str, Any], float | None]]) -> None:
    """Write scores and answers that give these values of their metric: accuracy over 100 rows, or Pearson over 4."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records, nearby = [], {}
    for record, value in scores:
        answers: dict[str, Any] = {}
        if value is not None and "accuracy" in record["metrics"]:
            hits = round(100 * value)
            answers = {"test": {"answers": [1] * 100, "truth": [1] * hits + [0] * (100 - hits)}}
        elif value is not None:  # r a + sqrt(1 - r^2) b correlates with a by r, if a and b are orthogonal
            other = (1 - value**2) ** 0.5
            truth, orthogonal = [1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]
            mixed = [value * a + other * b for a, b in zip(truth, orthogonal, strict=True)]
            answers = {"test": {"answers": mixed, "truth": truth}}
        split = "test" if answers else None
        records.append(with_digest({**record, "split": split, "answers_sha256": digest_of_answers(answers)}))
        nearby[str(record["seed"])] = answers
    Path(answers_address(str(path))).write_text(json.dumps(nearby))
    path.write_text(json.dumps(records))


def digest_of_answers(answers: Any) -> str:
    """Return the digest of the answers of a seed, as its score holds it."""
    return hashlib.sha256(f"{json.dumps(answers)}\n".encode()).hexdigest()


def keep(files: dict[Path, str]) -> list[Path]:
    """Write the files of a recording, as `retort record` does, and return their paths."""
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(files)


def change_record(path: Path, **changes: Any) -> None:
    """Change keys of a profile, as if it had been made so."""
    path.write_text(json.dumps(_changed(json.loads(path.read_text()), changes)))


def change_score(path: Path, seed: int | None = None, /, **changes: Any) -> None:
    """Change keys of the score of a seed, or of all scores of a file, as if they had been made so."""
    scores = json.loads(path.read_text())
    path.write_text(json.dumps([_changed(one, changes) if seed in (None, one["seed"]) else one for one in scores]))


def _changed(record: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return with_digest({**{key: value for key, value in record.items() if key != "sha256"}, **changes})


def change_answers(scores: Path, seed: int, answers: Any) -> None:
    """Change the answers of a seed, and the digest of them that its score holds."""
    nearby = Path(answers_address(str(scores)))
    nearby.write_text(json.dumps({**json.loads(nearby.read_text()), str(seed): answers}))
    change_score(scores, seed, answers_sha256=digest_of_answers(answers))


def record_of(scores: Path, seed: int) -> dict[str, Any]:
    """Return the score of a seed from a file of scores."""
    found: dict[str, Any] = next(record for record in json.loads(scores.read_text()) if record["seed"] == seed)
    return found


def paths() -> tuple[list[str], list[str]]:
    """Return the paths of all scores and of all profiles under the current folder."""
    scores = (path for path in Path("results/scores").rglob("*.json") if SCORE_FILE.fullmatch(path.name))
    return sorted(map(str, scores)), sorted(map(str, Path("results/profiles").glob("*.json")))


def quiet() -> RunningJob:
    """Return a job whose log is kept in memory."""
    return RunningJob(name="test", log=io.StringIO())


def line(
    mean: float | None,
    reported: float | None = None,
    std: float = 1.0,
    n: int = 3,
    ours: float | None = None,
    **more: Any,
) -> Line:
    """Return the line of a score.

    Args:
        mean: our mean.
        reported: the reported mean.
        std: the standard deviation over our runs and over the reported ones.
        n: the number of our runs and of the reported ones.
        ours: our standard deviation, if it is another one.
        more: further fields.
    """
    fields = {"row": "R", "student": "s", "column": "c", "task": "t", "reported_n": n, "reported_std": std, **more}
    scores = {name: seed_text(dict(by_seed)) for name, by_seed in fields.items() if name.endswith("by_seed")}
    return Line("p", "table1", metric="accuracy", unit="x100", reported=reported, mean=mean,
                std=std if ours is None else ours, n=n, **{**fields, **scores})  # fmt: skip


def frame(lines: Iterable[Line]) -> DataFrame:
    """Return lines as the frame of a table."""
    return frame_of(line._asdict() for line in lines)


def collected(
    study: Study, table: str, scores: Any = None, profiles: Any = None, paper: str = "tiny"
) -> tuple[Table, DataFrame]:
    """Return a table of a study and the frame that it collects from these scores and profiles."""
    spec = table_of(study, paper, table)
    return spec, spec.collect(Inputs(study, paper, table, scores or {}, profiles or {}))


def made(config: dict[str, Any], table: str = "table1", **scores: Any) -> tuple[list[Line], dict[str, str]]:
    """Make a table from these scores; return its lines and its text in each format."""
    write_results(config, {**SCORES, **scores})
    found, profiles = paths()
    renders = {kind: f"out.{kind}" for kind in ("md", "tex", "html")}
    csv = Path(f"results/tables/tiny/{table}.csv")
    make_table(quiet(), config, "tiny", table, found, profiles, str(csv), renders)
    return list(lines_of(read(csv))), {kind: Path(path).read_text() for kind, path in renders.items()}
