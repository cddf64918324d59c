"""The numbers of a study as frames, for tables and for notebooks: cells and scores, tables, claims, steps of trainings.

A cell is known by paper, table, row and column, and a score by student, task, metric and seed. `cells` says which
scores a cell is made of, so a table of one's own is a join of these frames.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retort.job.steps import SUFFIX, read_steps, steps_files
from retort.results.collect import read_scores, value_of
from retort.results.frames import concatenated, read
from retort.specs.exhibit import Exhibit
from retort.study.addresses import score_file_of_seed, score_files
from retort.study.cells import expand
from retort.study.study import Study
from retort.tables.claims import read_judged
from retort.tables.replications import numbers_of

if TYPE_CHECKING:
    from pandas import DataFrame

CELL = ["paper", "table", "row", "column"]
SCORE = ["student", "task", "metric"]
JUDGED = ["verdict", "remark", "numbers", "points_to", "computed"]
ORIGIN = ("seconds", "max_rss_mb", "device", "commit", "at")  # of a score: how long it took, and where it comes from
STEP = ("job", "seed", "point", "stage", "stages", "step", "steps", "loss", "learning_rate", "grad_norm",
        "tokens_per_second", "steps_per_second", "dev", "at")  # fmt: skip
RECORDED = ("precision", "machine", "date", "commit")  # of a recorded run: in and on what it ran, when, and which code


def reported_tables(study: Study) -> dict[tuple[str, str], Exhibit]:
    """Return every table reported in a paper, by paper and name; a study of ours has none."""
    papers = sorted(paper for paper, spec in study.papers.items() if not spec.ours)
    tables = {(paper, name): study.exhibits[paper, name] for paper in papers for name in study.exhibits_of(paper)}
    return {key: table for key, table in tables.items() if table.paper_cells()}


def cells(study: Study) -> DataFrame:
    """Return a line for each score that a cell of a table or figure is made of: `CELL` and `SCORE`."""
    import pandas as pd

    lines = [
        (*key, cell.row, cell.column, student, task, metric)
        for key, exhibit in study.exhibits.items()
        for cell in exhibit.cells()
        for student in cell.students
        for task, metric in cell.scored
    ]
    return pd.DataFrame(lines, columns=[*CELL, *SCORE])


def measured(study: Study, paths: Iterable[Path | str] | None = None) -> DataFrame:
    """Return a line for each score of this run: `SCORE`, split, seed, status, value (times 100), `ORIGIN` and path.

    Args:
        study: the study.
        paths: files of scores; None for all that exist.

    Raises:
        RetortError: a file was made with other settings than the study's, or does not follow from its answers.
    """
    import pandas as pd

    if paths is None:
        pairs = dict.fromkeys((cell.student, cell.task) for cell in expand(study))
        paths = [path for pair in pairs for path in score_files(study, *pair) if Path(path).is_file()]
    lines = [
        (student, task, metric, record["split"], seed, record["status"], value_of(record, metric),
         *map(record.get, ORIGIN), score_file_of_seed(study, student, task, seed))
        for (student, task, seed), record in read_scores(study, paths).items()
        for metric in record["metrics"] or [""]  # of a training that diverged
    ]  # fmt: skip
    return pd.DataFrame(lines, columns=[*SCORE, "split", "seed", "status", "value", *ORIGIN, "path"])


def reported(study: Study) -> DataFrame:
    """Return a line for each cell that papers report: `CELL`, its text and, if that is a number, what it says.

    `reported` and `reported_std` are texts; `value`, `std` and `half` (half a unit of the last digit) are numbers;
    `runs` is 0 if the paper does not say over how many a mean is. `replicated` tells which number others have, and who.
    """
    import pandas as pd

    lines, others = list[tuple[Any, ...]](), dict[tuple[str, ...], list[str]]()
    for (paper, _), one in study.replications.items():
        for key, text, _ in numbers_of(one):
            others.setdefault((paper, *key), []).append(f"{text} ({one.who})")
    for (paper, name), table in reported_tables(study).items():
        for cell in table.paper_cells():
            number, where = cell.number, (paper, name, cell.row, cell.column)
            texts = (number.text, number.std_text) if number else (cell.text, "")
            values = (number.value, number.std, number.half) if number else (None,) * 3
            lines.append((*where, *texts, *values, cell.runs, "; ".join(others.get(where, []))))
    columns = ["reported", "reported_std", "value", "std", "half", "runs", "replicated"]
    return pd.DataFrame(lines, columns=[*CELL, *columns])


def recorded(study: Study) -> DataFrame:
    """Return a line for each number of a recorded run: `CELL`, scale, seed (none for a mean), value and origin.

    The origin is precision, machine, date and commit. Of a study of ours, `row` is the short name of a student, the
    record is that of `Study.record_of`, and the scale is empty: such a record does not say at which it ran.
    """
    import pandas as pd

    runs = [*study.recordings.items(), *(((paper, ""), one) for paper in study.papers
                                         if (one := study.record_of(paper)))]  # fmt: skip
    lines = []
    for (paper, scale), run in runs:
        later = {(table, row): one.run for one in run.added for table, rows in one.rows.items() for row in rows}
        for table, rows in run.tables.items():
            for row, columns in rows.items():
                whose = [later.get((table, row), run.run).get(name, "") for name in RECORDED]
                for column, (mean, *_) in columns.items():
                    seeds = run.by_seed.get(table, {}).get(row, {}).get(column)
                    for seed, value in seeds.items() if seeds else [(None, mean)]:
                        lines.append((paper, table, row, column, scale, seed, value, *whose))
    return pd.DataFrame(lines, columns=[*CELL, "scale", "seed", "value", *RECORDED])


def tabulated(study: Study) -> DataFrame:
    """Return the lines of all tables and figures that are made, as `results.frames` describes them.

    Raises:
        RetortError: a file was changed.
    """
    paths = {"/".join(key): Path("results/tables", key[0], f"{key[1]}.csv") for key in study.exhibits}
    return concatenated({name: read(path) for name, path in paths.items() if path.is_file()})


def judged(study: Study) -> DataFrame:
    """Return a line for each claim on each side that has it: paper, claim, what it says, side, and `JUDGED`.

    The side is 'reported', 'ours', the scale of a recorded run, or 'replicated by' and a source. `points_to` is True,
    False, or None if the means of our runs do not tell; `computed` tells that no run is needed.

    Raises:
        RetortError: the file of a paper holds other claims than the study.
    """
    import pandas as pd

    lines = [
        (paper, one.name, one.claim.says, side, *(getattr(told, name) for name in JUDGED))
        for paper in study.papers
        for one in read_judged(study, paper, Path("results/tables", paper, "claims.json"))
        for side, told in {
            "reported": one.reported,
            "ours": one.ours,
            **one.recorded,
            **{f"replicated by {who}": by_them for who, by_them in one.replicated.items()},
        }.items()
    ]
    return pd.DataFrame(lines, columns=["paper", "claim", "says", "side", *JUDGED])


def steps(pattern: str = "*") -> DataFrame:
    """Return the lines of files of steps: the keys of `STEP`, which may be missing, and the path of their file.

    A term of the loss has a column 'terms.<name>'.

    Args:
        pattern: of the names of the files without their end, such as 'pocket-kd.tweets.*'.
    """
    import pandas as pd

    files = [path for path in steps_files() if path.match(f"{pattern}{SUFFIX}")]
    frame = pd.json_normalize([{**line, "path": str(path)} for path in files for line in read_steps(path)])
    return frame.reindex(columns=list(dict.fromkeys([*STEP, "path", *frame.columns])))
