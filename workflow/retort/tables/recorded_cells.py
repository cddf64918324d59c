"""Record a run of a study of ours: write its numbers into the study's files as the published ones."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

import yaml

from retort.atomic import write_text
from retort.errors import RetortError
from retort.results.score_files import read_record
from retort.results.tidy import AVERAGE, HAS_VALUE, Line, read
from retort.specs.base import Names
from retort.specs.exhibit import Exhibit
from retort.study.cells import expand, score_address
from retort.study.study import Study
from retort.tables.base import Inputs, table_of

KEPT = {"x100": 5, "M": 4, "ms": 3, "times": 3, "%": 3, "p": 6}  # unit -> decimals kept: enough to be rounded again


def recorded_value(line: Line) -> list[float] | None:
    """Return [mean] or [mean, standard deviation] of a line, rounded; None for a line without a value."""
    if line.status not in HAS_VALUE or line.mean is None:
        return None
    decimals = KEPT[line.unit]
    return [round(value, decimals) for value in (line.mean, line.std) if value is not None]


def recorded_cells(names: Names, lines: list[Line]) -> dict[str, dict[str, list[float]]]:
    """Return student -> column -> values of a table of models; averages are left out, since they can be computed."""
    recorded: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        value = recorded_value(line)
        if value is not None and line.column != AVERAGE:
            recorded.setdefault(names.short(line.student), {})[line.column] = value
    return recorded


def check_runs(name: str, exhibit: Exhibit, lines: list[Line]) -> None:
    """Check that `runs` of a table of scores is the number of runs behind its means.

    Raises:
        RetortError: it is another number.
    """
    counts = {line.n for line in lines if line.unit == "x100" and line.std is not None}
    if exhibit.compared_rows() and counts - {exhibit.published_runs}:
        means = ", ".join(map(str, sorted(counts)))
        raise RetortError(f"{name}.yaml: its means are of {means} runs", f"set runs: {max(counts)}")


def with_block(path: Path, key: str, content: Any) -> str:
    """Return the text of a YAML file with its last block, that of `key`, replaced by `content`.

    The text above the block stays as it is, with its comments.

    Raises:
        RetortError: another key comes after the block.
    """
    above, _, below = path.read_text(encoding="utf-8").partition(f"\n{key}:")
    if any(line[:1] not in (" ", "", "#") for line in below.splitlines()[1:]):
        raise RetortError(f"{path}: '{key}' is not the last key", "move it to the end of the file")
    block = yaml.safe_dump({key: content}, sort_keys=False, default_flow_style=None, width=118, allow_unicode=True)
    return f"{above.rstrip()}\n{block}"


def scores_of(study: Study, exhibits: Container[tuple[str, str]]) -> list[Path]:
    """Return the paths of the scores of some tables and figures, named as (paper, name)."""
    cells = [cell for cell in expand(study) if (cell.paper, cell.table) in exhibits]
    return list(dict.fromkeys(Path(score_address(cell.student, cell.task, cell.seed)) for cell in cells))


def origin_of(study: Study, scores: Iterable[Path]) -> dict[str, str]:
    """Return machine, date, commit, precision and versions of some scores.

    Raises:
        RetortError: a score is missing, the scores come from several machines, commits or versions, or the code that
            made them is not committed.
    """
    records = []
    for path in scores:
        if not path.is_file():
            raise RetortError(f"{path} is missing", "run the whole study first")
        records.append(read_record(path))
    origin = {
        "machine": {record["device"] for record in records},
        "commit": {record["commit"] for record in records},
        "versions": {
            ", ".join(f"{name} {version}" for name, version in record["versions"].items()) for record in records
        },
    }
    for what, values in origin.items():
        if len(values) != 1:
            raise RetortError(f"the scores are of several {what}s: {'; '.join(sorted(values))}", "run the study anew")
    agreed = {what: next(iter(values)) for what, values in origin.items()}
    if agreed["commit"].endswith("+changes"):
        raise RetortError("the scores were made with code that is not committed", "commit it and run the study anew")
    return {
        **agreed,
        "precision": study.config.resolved_precision(),
        "date": max(record["at"] for record in records)[:10],
    }


def record(study: Study, paper: str) -> list[str]:
    """Write the numbers of the last run into a paper's files as its published numbers; return the written files.

    All of it is checked before anything is written.

    Raises:
        RetortError: the paper is not a study of ours, a table has not been made, or `origin_of` refuses the scores.
    """
    if not study.papers[paper].ours:
        raise RetortError(
            f"the published numbers of '{paper}' are its paper's", "only a study with `ours: true` is recorded"
        )
    origin = origin_of(study, scores_of(study, {key for key in study.exhibits if key[0] == paper}))
    folder = study.folder / "papers" / paper
    texts: dict[str, str] = {}
    for name in sorted(name for slug, name in study.exhibits if slug == paper and name.startswith("table")):
        path = Path(f"results/tables/{paper}/{name}.csv")
        if not path.is_file():
            raise RetortError(f"{path} is missing", "run the whole study first")
        lines = read(path)
        check_runs(name, study.exhibits[paper, name], lines)
        content = table_of(study, paper, name).recorded(Inputs(study, paper, name), lines)
        if content is not None:
            texts[f"{name}.yaml"] = with_block(folder / f"{name}.yaml", "published", content)
    for figure in sorted(Path(f"reports/{paper}").glob("figure*.svg")):
        texts[f"recorded/{figure.name}"] = figure.read_text(encoding="utf-8")
    texts["paper.yaml"] = with_block(folder / "paper.yaml", "recorded", origin)
    for file, text in texts.items():
        write_text(folder / file, text)
    return list(texts)
