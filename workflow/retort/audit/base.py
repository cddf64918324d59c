"""The input and output of the audit's checks.

A check goes through reported numbers and sentences, and finds those that are wrong, that cannot both be right, that are
unusual, or that leave something unsaid (`Sort`). A finding says what is reported, where, what it would have to be, and
why. It leaves open which of two numbers is wrong. The page of the audit shows the first line of a check's docstring,
without "Check that", as the heading of its findings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from retort.formatters import condition_text
from retort.registry import Registry
from retort.specs.across import Facts
from retort.specs.exhibit import Exhibit
from retort.specs.model import Architecture
from retort.specs.paper import Statement
from retort.specs.reported import AVERAGE, CHANGE, OF_A_MODEL, Number
from retort.specs.rows import CellSpec
from retort.study.study import Study
from retort.tables.layout import label_of
from retort.tables.numbers import reported_tables

TINY = 1e-9  # tolerance: in binary, a distance of exactly half a digit may come out slightly larger
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group items by a key; keys and items keep their order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


class Sort(StrEnum):
    """The four sorts of findings, in the order of their counts."""

    WRONG = "wrong"
    CONFLICT = "cannot both be right"
    UNUSUAL = "unusual"
    UNSAID = "not said"


MEANING = {  # sort -> what a finding of it is
    Sort.WRONG: "a number or formula that cannot be right",
    Sort.CONFLICT: "two numbers or sentences of which one must be wrong",
    Sort.UNUSUAL: "possible, but rare, or not what a reader would take it for",
    Sort.UNSAID: "something that a reader needs and that no text says",
}


@dataclass(frozen=True)
class Finding:
    """A number that cannot be right: where it is reported, what is reported, what it would have to be, and why.

    Args:
        statement: the statement of the paper's text that it is about, if it is about one.
        sort: its sort, if that is not the one of its check.
    """

    paper: str
    where: str
    reported: str
    other: str
    why: str
    statement: Statement | None = None
    sort: Sort | None = None


@dataclass(frozen=True)
class ReportedNumber:
    """One reported number: paper, table and cell, and the number of runs behind it (0 if unknown)."""

    paper: str
    table: str
    cell: CellSpec
    number: Number
    runs: int

    @property
    def where(self) -> str:
        """The cell as text: table, row, column."""
        return f"{label_of(self.table)}, {self.cell.row}, {self.cell.column}"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The paper, table, row and column."""
        return self.paper, self.table, self.cell.row, self.cell.column

    @property
    def is_score(self) -> bool:
        """Whether it is a score on a task."""
        return bool(self.cell.task) and self.cell.metric not in OF_A_MODEL

    @property
    def measure(self) -> tuple[str, ...]:
        """What is measured, as a key: entries of one model with the same key should have the same number."""
        cell = self.cell
        if cell.metric == AVERAGE:
            # a column of an average names no subset
            metrics = {task: metric.partition("/")[0] for task, metric in cell.tasks.items()}
            return (cell.split, AVERAGE, *sorted(f"{task} {metric}" for task, metric in metrics.items()))
        timed = f"{cell.measurement.batch} {cell.measurement.device}"
        return (cell.split if cell.task else "", cell.metric, cell.task, cell.subset, timed)

    def finding(self, other: str, why: str) -> Finding:
        """Return the finding that this number would have to be another one."""
        return Finding(self.paper, self.where, self.number.text, other, why)

    def place_next_to(self, other: ReportedNumber) -> str:
        """Return where it is reported, with its paper if `other` is of another one."""
        return self.where if self.paper == other.paper else f"{self.paper}, {self.where}"


def entries_of(paper: str, name: str, table: Exhibit) -> list[ReportedNumber]:
    """List every reported number of a table of models."""
    columns = {cell.column: cell.spec for cell in table.cells()}
    numbers = {(cell.row, cell.column): cell.number for cell in table.paper_cells()}
    runs = max((cell.runs for cell in table.reported_cells()), default=0)
    entries = []
    for cell in table.cells():
        number = numbers.get((cell.row, cell.column))
        if number is None:
            continue
        if cell.spec.mean_of and not cell.tasks:  # the mean over these columns is the mean over their tasks
            tasks = {columns[label].task: columns[label].metric for label in cell.spec.mean_of}
            cell = replace(cell, tasks=tasks)
        entries.append(ReportedNumber(paper, name, cell, number, runs))
    return entries


@dataclass(frozen=True)
class CheckResult:
    """The result of a check: how many items (cells, pairs, rows, ...) it looked at, and its findings."""

    count: int
    findings: list[Finding]


@dataclass(frozen=True)
class Build:
    """What a model is made of; models of two papers with equal builds can be compared.

    Args:
        teacher: the released model that it learns from; for a model that is only fine-tuned, that model itself.
        architecture: its sizes.
        vocabulary: number of tokens in its vocabulary.
        positions: maximal length of its input, in tokens.
        objectives: the objectives of its stages; empty if it is only fine-tuned.
        released: whether released weights are fine-tuned without distillation.
    """

    teacher: str
    architecture: Architecture
    vocabulary: int
    positions: int
    objectives: tuple[str, ...] = ()
    released: bool = False


@dataclass(frozen=True)
class Reported:
    """The input of a check: all that papers report, and facts to compare them with.

    Args:
        tables: every reported table, by (paper, name).
        entries: every reported number of a table of models.
        statements: what each paper's text says and claims about its numbers, by paper.
        facts: the sizes of each data set and the scores of the majority class, by task.
        models: the build of each student and teacher, by name.
    """

    tables: dict[tuple[str, str], Exhibit]
    entries: list[ReportedNumber]
    statements: dict[str, list[Statement]]
    facts: dict[str, Facts]
    models: dict[str, Build]

    def rows(self) -> dict[tuple[str, str, str], dict[str, ReportedNumber]]:
        """Group the entries by (paper, table, row), and in each row by column."""
        rows = group_by(self.entries, lambda entry: (entry.paper, entry.table, entry.cell.row))
        return {key: {entry.cell.column: entry for entry in row} for key, row in rows.items()}

    def in_rows(self) -> Iterator[tuple[ReportedNumber, dict[str, ReportedNumber]]]:
        """Yield each entry with its row, row by row."""
        for row in self.rows().values():
            yield from ((entry, row) for entry in row.values())

    def changed(self) -> Iterator[tuple[ReportedNumber, Number, Number]]:
        """Yield each relative change with the numbers from which and to which it is, where the row reports both."""
        for entry, row in self.in_rows():
            base, own = row.get(entry.cell.spec.change_from), row.get(entry.cell.before)
            if entry.cell.metric == CHANGE and base and own:
                yield entry, base.number, own.number


# for each item or group of items that a check looks at: how many items, and what is wrong with them
Looked = Iterator[tuple[int, Finding | None]]
checks: Registry[Callable[[Reported], Looked]] = Registry("check")
sorts: dict[str, Sort] = {}  # check -> the sort of its findings, unless one says its own


def register(name: str, sort: Sort) -> Callable[[Callable[[Reported], Looked]], Callable[[Reported], Looked]]:
    """Return a decorator that registers a function as the check `name`, whose findings are of a sort."""
    sorts[name] = sort
    return checks.register(name)


def by_table(entries: Iterable[ReportedNumber]) -> dict[tuple[str, str], list[ReportedNumber]]:
    """Group entries by (paper, table)."""
    return group_by(entries, lambda entry: (entry.paper, entry.table))


def by_column(entries: Iterable[ReportedNumber]) -> dict[tuple[str, str, str], list[ReportedNumber]]:
    """Group entries by (paper, table, column)."""
    return group_by(entries, lambda entry: (entry.paper, entry.table, entry.cell.column))


def reported_span(entries: list[ReportedNumber]) -> str:
    """Return the smallest and the largest of some numbers as reported, such as '71.2 to 73.5'."""
    texts = [entry.number.text for entry in sorted(entries, key=lambda entry: entry.number.value)]
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def _builds(study: Study) -> dict[str, Build]:
    """Return the build of each student and teacher by name."""
    builds = {}
    for name, teacher in study.teachers.items():
        model = study.models[teacher.model]
        builds[name] = Build(teacher.model, model.architecture, model.vocabulary, model.positions, released=True)
    for name, student in study.students.items():
        start, model = student.initialisation.checkpoint, study.model_of(student.teacher)
        released = bool(start) and not student.stages
        terms = [term for stage in student.stages for term in stage.terms]
        builds[name] = Build(
            start if released and start else study.teachers[student.teacher].model,
            student.architecture, model.vocabulary, model.positions,
            tuple(term.objective for term in terms), released,
        )  # fmt: skip
    return builds


def _merge(findings: list[Finding]) -> list[Finding]:
    """Merge findings with the same two numbers and the same reason into one that names all places."""
    alike = group_by(findings, lambda one: (one.paper, *sorted((one.reported, one.other)), one.why))
    return [replace(same[0], where="; ".join(dict.fromkeys(one.where for one in same))) for same in alike.values()]


def reported(study: Study) -> Reported:
    """Collect the input of the checks from all papers, without studies of our own."""
    tables = reported_tables(study)
    return Reported(
        tables,
        [entry for (paper, name), table in tables.items() for entry in entries_of(paper, name, table)],
        {
            paper: [*study.claims.get(paper, {}).values(), *study.statements.get(paper, {}).values()]
            for paper, spec in study.papers.items()
            if not spec.ours
        },
        study.facts,
        _builds(study),
    )


def look(check: str, everything: Reported) -> CheckResult:
    """Run one check; each of its findings has a sort."""
    looked = list(checks[check](everything))
    found = [replace(one, sort=one.sort or sorts[check]) for _, one in looked if one]
    return CheckResult(sum(count for count, _ in looked), _merge(found))


def audit(study: Study) -> dict[str, CheckResult]:
    """Run every check and return the results by the name of the check."""
    everything = reported(study)
    return {name: look(name, everything) for name in checks}


def as_text(results: dict[str, CheckResult]) -> str:
    """Return the audit as text: for each check its condition, then a line for each finding."""
    lines = []
    for name, result in results.items():
        lines += [f"{name}: {condition_of(name)} {len(result.findings)} of {result.count} do not hold."]
        for finding in result.findings:
            why = f" ({finding.why})" if finding.why else ""
            lines.append(f"  {finding.paper}, {finding.where}: {finding.reported}; but {finding.other}{why}")
        lines.append("")
    counted = ", ".join(f"{count} {sort}" for sort, count in counts_of_sorts(results).items())
    return "\n".join([*lines, f"{sum(len(result.findings) for result in results.values())} findings: {counted}"])


def counts_of_sorts(results: dict[str, CheckResult]) -> dict[Sort, int]:
    """Return how many findings are of each sort."""
    found = [one.sort for result in results.values() for one in result.findings]
    return {sort: found.count(sort) for sort in Sort}


def condition_of(name: str) -> str:
    """Return the condition that a check tests, from its docstring."""
    return condition_text(checks[name].__doc__ or "")
