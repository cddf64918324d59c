"""Checks of tables, figures, claims, audits and replications against each other; each yields (file, what is wrong)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from retort.specs import catalogue
from retort.specs.across import Answer, Compared
from retort.specs.base import check_known
from retort.specs.exhibit import Exhibit, exhibits_of, scored_metrics, shown_students
from retort.specs.loading import Found
from retort.specs.paper import Cells, ReplicatedRow, Statement
from retort.specs.reported import check_possible, read_number
from retort.study.study import Study

# parameter of a comparison -> the key of a statement that gives its value
GIVEN_BY = {
    "stated": "number",
    "than": "than",
    "against": "than",
    "counterparts": "than",
    "partners": "than",
    "both": "other",
    "allowed": "within",
}
UNQUOTED = "'quote' is missing: {section: ..., text: ...}, the sentence of the paper that makes the claim"
# file -> keys that only statements of the other file have
MISPLACED = {"claims.yaml": ("other", "but", "built"), "audit.yaml": ("undecided", "other_readings", "quote")}


def check_exhibits(study: Study) -> Iterator[Found]:
    """Yield what is wrong with the names in tables and figures, and with the `show` of papers."""
    for (slug, name), exhibit in study.exhibits.items():
        path, key = study.place_of(slug, name)
        yield from ((path, f"{key}{line}") for line in _exhibit(study, slug, exhibit))
        scores = [cell.number.value for cell in exhibit.reported_cells() if cell.number]
        if exhibit.compared_rows() and len(scores) > 1 and all(abs(score) <= 1 for score in scores) and any(scores):
            yield path, f"{key}all reported numbers are at most 1: scores are per cent, 50 and not 0.5"
    for slug, paper in study.papers.items():
        for line in check_known("show", "table or figure", paper.show, exhibits_of(study, slug)):
            yield study.folders[slug] / "paper.yaml", line


def check_across(study: Study) -> Iterator[Found]:
    """Yield what is wrong with the papers, tables, columns and rows that papers/across.yaml names."""
    for name, spec in study.across.items():
        path = study.files["across", name]
        for number, one in enumerate(spec.compared, start=1):
            yield from ((path, f"{name}.compared.{number}.{line}") for line in _compared(study, one))


def _compared(study: Study, one: Compared) -> Iterator[str]:
    tables = exhibits_of(study, one.paper)
    if one.paper in study.papers:
        yield from check_known("table", "table", [one.table], tables)
    if one.table in tables:
        rows = tables[one.table].rows_and_columns()
        yield from check_known("baseline", "row", [one.baseline], rows)
        yield from check_known("rows", "row", one.rows.values(), rows)
        yield from check_known("over", "column", one.over, {column for columns in rows.values() for column in columns})


def check_answers(study: Study) -> Iterator[Found]:
    """Yield what is wrong with the claims, tables and figures that papers/answers.yaml names."""
    for name, answer in study.answers.items():
        yield from ((study.files["answers", name], f"{name}.{line}") for line in _answer(study, answer))


def _answer(study: Study, answer: Answer) -> Iterator[str]:
    for number, one in enumerate(answer.rests_on, start=1):
        if one.paper in study.papers:
            claims, exhibits = study.claims.get(one.paper, {}), exhibits_of(study, one.paper)
            yield from check_known(f"rests_on.{number}.claims", "claim", one.claims, claims)
            yield from check_known(f"rests_on.{number}.exhibits", "table or figure", one.exhibits, exhibits)
    paper = answer.picture.partition("/")[0]
    if paper in study.papers or paper not in study.folders:  # else it is not opened, and so not shown
        known = [*study.across, *("/".join(key) for key in study.exhibits if key[1].startswith("figure"))]
        yield from check_known("picture", "question of across.yaml or figure", [answer.picture], known)


def check_replications(study: Study) -> Iterator[Found]:
    """Yield what is wrong with the tables, rows, columns and numbers of replications."""
    for (slug, name), one in study.replications.items():
        path, tables = study.folders[slug] / "replications" / f"{name}.yaml", exhibits_of(study, slug)
        for table, rows in one.tables.items():
            yield from ((path, line) for line in check_known("tables", "table", [table], tables))
            for row, replicated in rows.items() if table in tables else ():
                yield from ((path, line) for line in _replicated(tables[table], table, row, replicated))


def _replicated(exhibit: Exhibit, table: str, row: str, replicated: ReplicatedRow) -> Iterator[str]:
    where = f"tables.{table}"
    wrong = list(_reported(exhibit, where, Cells(table=table, rows=[row], columns=list(replicated.numbers))))
    yield from wrong
    metrics = {cell.column: cell.metric for cell in exhibit.cells() if cell.row == row}
    for column, text in replicated.numbers.items() if not wrong else ():
        if column not in metrics:
            yield f"{where}: nothing is measured in a table of kind '{exhibit.kind}'"
        elif number := read_number(text):
            try:
                check_possible(metrics[column], number.value, number.std)
            except ValueError as error:
                yield f"{where}.{row}.{column}: {error}"


def _exhibit(study: Study, slug: str, exhibit: Exhibit) -> Iterator[str]:
    students, everyone = shown_students(exhibit), {**study.students, **study.teachers}
    yield from check_known("student", "student", students, everyone)
    for task, metric in scored_metrics(exhibit):
        yield from check_known("task", "task", [task], study.tasks)
        if task in study.tasks:
            measures = study.tasks[task].measures(study.tasks[task].evaluation_split)
            yield from check_known(f"metric of {task}", "metric", [metric], measures)
    chosen = dict.fromkeys((cell.row, task) for cell in exhibit.cells() if cell.others for task, _ in cell.scored)
    for row, task in chosen:
        if (spec := study.tasks.get(task)) and spec.validation_split != spec.evaluation_split:
            yield f"row '{row}': best_of: '{task}' is scored on '{spec.evaluation_split}', which must not choose"
    if set(students) <= set(everyone):
        yield from exhibit.problems(study, slug)


def check_statements(study: Study) -> Iterator[Found]:
    """Yield a line for each unknown name in a claim or an audit, and for each value that its comparison lacks."""
    for file, papers in (("claims.yaml", study.claims), ("audit.yaml", study.statements)):
        for slug, statements in papers.items():
            tables = exhibits_of(study, slug)
            for name, statement in statements.items():
                inside = file == "claims.yaml" and name in study.papers[slug].claims
                place = study.folders[slug] / ("paper.yaml" if inside else file)
                unquoted = file == "claims.yaml" and not (statement.quote or study.papers[slug].ours)
                for line in (*_in_each_reading(tables, file, name, statement), *([f"{name}: {UNQUOTED}"] * unquoted)):
                    yield place, f"claims.{line}" if inside else line


def _in_each_reading(tables: dict[str, Exhibit], file: str, name: str, statement: Statement) -> Iterator[str]:
    """Yield what is wrong with a statement; if nothing is, then what is wrong with its other readings."""
    wrong = list(_statement(tables, file, name, statement))
    yield from wrong
    for key, reading in statement.other_readings.items() if not wrong else ():
        yield from _statement(tables, file, f"{name}.other_readings.{key}", statement.read_as(reading))


def _statement(tables: dict[str, Exhibit], file: str, name: str, statement: Statement) -> Iterator[str]:
    yield from (f"{name}: '{key}' is not for {file}" for key in MISPLACED[file] if getattr(statement, key))
    check, comparisons = {"claims.yaml": _shown, "audit.yaml": _reported}[file], catalogue.comparisons()
    wrong: list[str] = []
    for cells in (*statement.cells, *statement.than):
        wrong += check_known(name, "table", [cells.table], tables)
        if cells.table in tables:
            wrong += check(tables[cells.table], name, cells)
    yield from wrong
    if statement.compare and not wrong:  # a wrong name would be reported twice
        yield from (f"{name}: {line}" for line in _wrong_sides(statement, comparisons[statement.compare].options))
        if file == "claims.yaml":
            yield from (f"{name}: {line}" for line in _self_comparison(statement))


def _shown(exhibit: Exhibit, name: str, cells: Cells) -> Iterator[str]:
    """Yield a line for each row and column that the table or figure does not have."""
    rows = exhibit.rows_and_columns()
    columns = dict.fromkeys(column for groups in rows.values() for column in groups)
    yield from check_known(name, f"row of {cells.table}", cells.rows, rows)
    yield from check_known(name, f"column of {cells.table}", cells.columns if rows else [], columns)


def _reported(exhibit: Exhibit, name: str, cells: Cells) -> Iterator[str]:
    """Yield a line for each of the cells in which the paper reports no number."""
    reported = exhibit.paper_cells()
    rows = {cell.row for cell in reported}
    for row in cells.rows:
        yield from check_known(name, "row", [row], rows)
        columns = {cell.column for cell in reported if cell.row == row and cell.number}
        yield from check_known(name, "number in column", cells.columns if row in rows else [], columns)


def _wrong_sides(statement: Statement, parameters: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with the two sides of a comparison: values that it takes, or the number of cells a side."""
    comparison = f"comparison '{statement.compare}'"
    for key in (GIVEN_BY[name] for name in parameters):
        if getattr(statement, key) in ("", [], None):
            yield f"{comparison} needs '{key}'"
    cells, than = (
        Counter(column for group in side for _, _, column in group.keys) for side in (statement.cells, statement.than)
    )
    if "counterparts" in parameters and than:
        if cells.keys() != than.keys() or any(count not in (1, than[column]) for column, count in cells.items()):
            yield f"{comparison} takes for each of the 'cells' one of 'than' in its column"
    elif "partners" in parameters:
        if cells.total() != than.total():
            yield f"{comparison} takes as many 'cells' as 'than'"
    elif "against" in parameters and than:
        if alone := sorted(cells.keys() ^ than.keys()):
            yield f"column '{alone[0]}' stands on one side of the comparison only"
    elif ("stated" in parameters or "than" in parameters) and max(cells.total(), than.total()) > 1:
        yield f"{comparison} takes one cell a side"


def _self_comparison(statement: Statement) -> Iterator[str]:
    """Yield a line if a column has one and the same cell, and no other, on both sides of a claim.

    Larger groups may share cells: 'all rows are near each other', or 'one row is not below any row'.
    """
    sides = [[key for group in side for key in group.keys] for side in (statement.cells, statement.than)]
    for table, row, column in sides[0]:
        if all([key for key in side if key[::2] == (table, column)] == [(table, row, column)] for side in sides):
            yield f"row '{row}', column '{column}' of {table} is compared with itself"
            return
