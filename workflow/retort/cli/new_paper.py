"""The verb `new`: the folder of a further paper, from a table that it reports."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from retort.atomic import write_text
from retort.cli.base import CONFIG, argument, config_of, verb
from retort.errors import RetortError
from retort.plan.plan import relative_to_here
from retort.specs.base import NAME, path_of_user
from retort.specs.config import Config
from retort.specs.reported import AS_REPORTED, METRIC_NAMES, Heading, TextRow, header_lines, read_number, row_names
from retort.specs.task import Task
from retort.study.load import read_study
from retort.study.schemas import schema_line
from retort.study.table_cells import GivenTable, read_table

CHOOSE = "# choose: "
OF_MODELS = {r"#?params?.*|parameters.*|size.*": "parameters", r"speed-?up.*": "speed-up", r"latency.*": "latency",
             r"#?layers": "layers", r"hidden( size)?": "hidden"}  # fmt: skip
AVERAGE = {"avg", "average", "mean"}
SUBSETS = {"m": "matched", "mm": "mismatched"}  # as papers write them -> subsets of tasks


@verb(
    "new",
    argument("paper", nargs="?", help="the name of its folder: letters and digits, with single dashes between them"),
    argument("--from", dest="table", help="a table that it reports: a .csv file, or its LaTeX source"),
    argument("--study", help="begin a folder for papers, tasks and objectives of your own, outside this clone"),
)
def new_paper(arguments: argparse.Namespace) -> int:
    """Write the folder of a further paper from a table that it reports, and list what is left to choose."""
    if bool(arguments.paper) != bool(arguments.table) or not (arguments.paper or arguments.study):
        raise RetortError("nothing to begin", "give a paper and --from TABLE, or --study FOLDER, or both")
    config = config_of(arguments)
    if arguments.study:
        config = _begin(config, path_of_user(arguments.study))
    return _write(config, arguments.paper, Path(arguments.table)) if arguments.paper else 0


def _begin(config: Config, folder: Path) -> Config:
    """Begin a further folder of the study, with a configuration that names it; return this configuration."""
    if folder.parts[:1] and folder.parts[0].startswith("~"):
        raise RetortError(f"there is no folder {folder.parts[0]}", "write ~ for your own home")
    folder = folder.absolute()
    path = folder / CONFIG
    if path.exists():
        raise RetortError(f"{path} exists already", f"use it: --config {path}")
    longer = config.model_copy(update={"study": [*config.study, str(folder)]})
    (folder / "papers").mkdir(parents=True, exist_ok=True)
    write_text(path, schema_line(path, "config") + yaml.safe_dump({"study": longer.study}))
    print(f"{path}: written; read it with: retort check --config {path}; snakemake --cores all --configfile {path}")
    return longer


def _write(config: Config, name: str, source: Path) -> int:
    """Write the folder of a paper into the last folder of the study."""
    folder = config.study_folders[-1] / "papers" / name
    if not re.fullmatch(NAME, name):
        hint = "write letters and digits, with single dashes between them, such as lee2025"
        raise RetortError(f"'{name}' is no name of a folder of a paper", hint)
    if there := config.files(f"papers/{name}"):
        raise RetortError(
            f"{relative_to_here(there[0])} exists already", "give another name, or write a further table by hand"
        )
    table = read_table(source)
    study, _ = read_study(config)
    texts = {"paper": _paper(name), "table1": _table(table, study.tasks)}
    folder.mkdir(parents=True)
    for file, text in texts.items():
        path = folder / f"{file}.yaml"
        write_text(path, schema_line(path, file.rstrip("1")) + text)
        print(f"{relative_to_here(path)}: written; to choose:")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if CHOOSE in line:
                print(f"  line {number}: {line.partition(CHOOSE)[2]}")
    return 0


def _paper(name: str) -> str:
    title = f"title: {name} {CHOOSE}the name of its method, or a short title"
    return f"{title}\nreference: {name} {CHOOSE}authors, year, title, and where it was published\n"


def _table(table: GivenTable, tasks: Mapping[str, Task]) -> str:
    """Return the file of a table, without its first line; a comment marks what could not be guessed."""
    columns = list(_columns(table, tasks))
    numbers = sum(read_number(cell) is not None for _, _, cells in table.rows for cell in cells)
    scored, labels = any("task" in column for column, _ in columns), dict[str, dict[str, str]]()
    for number, (group, label, _) in enumerate(table.rows, start=1):
        name = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-") or f"row-{number}"
        name = f"{name}-{number}" if name in labels else name
        labels[name] = {"label": label, "planned": name} | ({"group": group} if group else {})
    fields = [
        (f"kind: {'scores' if scored else 'profiles'}", ""),
        (f"title: {_flow(table.caption or 'Table 1')}", "" if table.caption else "what it shows, in one line"),
        ("question: What does it show?", "the question that it answers, in one sentence"),
        *([("split: dev", "dev or test")] if scored else []),
        (
            f"numbers: {numbers}",
            "count the numbers of the reported table yourself, without deviations; these were read",
        ),
        (f"stub: {_flow(table.stub)}", ""),
        ("columns:", ""),
        *((f"  - {_flow(column)}", choice) for column, choice in columns),
        ("rows:", "'student: NAME' in place of 'planned' once a student exists; 'quoted: WHOSE' for a quoted row"),
        *((f"  - {_flow(row)}", "") for row in labels.values()),
        ("reported: |", ""),
    ]
    lines = [f"{text} {CHOOSE}{choice}" if choice else text for text, choice in fields]
    return "\n".join([*lines, *(f"  {line}" for line in _block(table)), ""])


def _columns(table: GivenTable, tasks: Mapping[str, Task]) -> Iterator[tuple[dict[str, object], str]]:
    """Yield each column, and what the author has to choose about it; empty if all of it could be guessed."""
    scores: list[str] = []  # the columns of scores so far
    for heading, label in table.columns:
        column: dict[str, Any] = {"label": label} | ({"heading": heading} if heading else {})
        words = label.lower()
        of_model = [metric for pattern, metric in OF_MODELS.items() if re.fullmatch(pattern, words)]
        if of_model:
            yield {**column, "metric": of_model[0]}, ""
        elif words.rstrip(".") in AVERAGE and scores:
            yield {**column, "mean_of": [*scores]}, ""
        elif task := _task(label, tasks) or _task(f"{heading} {label}", tasks):
            scores.append(Heading(label=label, heading=heading).name)
            measured, choice = _measured(f"{heading} {label}", label, tasks[task])
            yield {**column, "task": task, **measured}, choice
        else:
            choice = "'task' and 'metric' if it is measured, too; `retort list tasks` prints the tasks"
            yield {**column, "metric": AS_REPORTED}, choice


def _task(text: str, tasks: Mapping[str, Task]) -> str:
    """Return the task that a heading names ('SST-2', 'SQuAD v2.0', 'STS'); empty if there is none."""
    name = re.sub(r"\(.*?\)|v(?=\d)|[^a-z0-9]", "", text.lower())
    begins = [task for task in sorted(tasks, key=len, reverse=True) if name.startswith(task.replace("-", ""))]
    return next(iter(begins or [task for task in tasks if len(name) > 2 and task.startswith(name)]), "")


def _measured(text: str, label: str, task: Task) -> tuple[dict[str, str], str]:
    """Return metric and subset of a column of scores, and what is left to choose."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    known = {word.lower(): metric for metric, names in METRIC_NAMES.items() for word in names}
    named = [known[word] for word in words if known.get(word) in task.metrics]
    found = {"metric": (named or task.metrics)[0]}
    choices = [] if named or len(task.metrics) == 1 else [f"the metric, one of {', '.join(task.metrics)}"]
    if task.subsets:
        last = re.findall(r"[a-z0-9]+", label.lower())[-1:]
        subset = [SUBSETS.get(word, word) for word in last if SUBSETS.get(word, word) in task.subsets]
        found["subset"] = (subset or task.subsets)[0]
        choices += [] if subset else [f"the subset, one of {', '.join(task.subsets)}"]
    return found, "; ".join(choices)


def _flow(value: Any) -> str:
    """Return a value in YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


def _block(table: GivenTable) -> list[str]:
    """Return the lines of the block of reported cells, aligned but for a line of headings over several columns."""
    heads = header_lines(table.stub, table.columns)
    names = row_names([TextRow(label=label, group=group) for group, label, _ in table.rows])
    lines = [heads[-1], *([name, *row[2]] for name, row in zip(names, table.rows, strict=True))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [" | ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)) for line in lines]
    return [line.rstrip() for line in [*(" | ".join(head) for head in heads[:-1]), *aligned]]
