"""What tables, figures and claims read and depend on, and so do the pages: an index, one per paper, the audit."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from snakemake.io import local

from retort import provenance
from retort.errors import RetortError
from retort.plan.plan import Plan, relative_to_here
from retort.plan.resolve_data import VERSIONS
from retort.plan.rule import given
from retort.plan.settings_cells import our_text, readable_settings
from retort.plan.sharing import grid_parts
from retort.specs.exhibit import metrics_by_student
from retort.specs.rows import assumed_spread
from retort.study.addresses import profile_address, score_files, submission_address
from retort.study.cells import gridded, left_out, profiled, sent_runs, served
from retort.study.study import Study
from retort.study.yaml_files import ACROSS, ANSWERS, COLUMNS, FOLDERS, is_ours

Wildcards = Any

TABLE, FIGURE = "table[a-z0-9-]*", "figure[a-z0-9-]*"
ENDINGS = {"table": "html", "figure": "svg"}


def _csvs(paper: str, names: list[str]) -> list[str]:
    """Return the CSV files of tables."""
    return [f"results/tables/{paper}/{name}.csv" for name in names]


def file_of_study(path: Path) -> str:
    """Return an input that is a file of the study: neither the prefix of a module nor a storage provider moves it."""
    flagged: str = local(relative_to_here(path))
    return flagged


def file_of(plan: Plan, paper: str, name: str) -> str:
    """Return the YAML file of a table or figure.

    Raises:
        RetortError: the paper has none of this name.
    """
    study = plan.study
    if (paper, name) not in study.exhibits:
        there = ", ".join(study.exhibits_of(paper))
        raise RetortError(f"no table or figure of '{paper}' is called '{name}'", f"there are: {there}")
    return file_of_study(study.files["exhibits", f"{paper}/{name}"])


def files_of_table(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the YAML file of a table, and the file of shared columns if the table names a list of them."""
    shared = list(map(file_of_study, plan.config.files(COLUMNS))) if (paper, name) in plan.study.with_columns else []
    return [file_of(plan, paper, name), *shared]


def scores(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the score files that a table or figure reads; those of the compared tables if it compares tables."""
    exhibit = plan.study.exhibits[paper, name]
    names = exhibit.compares() or [name]
    cells = [cell for cell in plan.cells if cell.paper == paper and cell.table in names]
    read = {(cell.student, cell.task) for cell in cells}
    sent = {(student, task) for student, task, _ in sent_runs(plan.study, exhibit)} if plan.sends else set()
    paths = {path for pair in read | sent for path in score_files(plan.study, *pair)}
    return sorted(paths - plan.config.run_sources.failed.keys())


def records_next_to(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the replications of a paper, which its table shows; and the recorded runs, which it shows if not run."""
    recorded = recorded_files(plan.study, paper) if paper in plan.study.unrun else []
    return [*replications(plan.study, paper), *recorded]


def drawn_tables(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the CSV files of the tables that a figure draws."""
    return _csvs(paper, plan.study.exhibits[paper, name].drawn_tables())


def profiles(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the profile files that a table or figure reads."""
    paths = {profile_address(student) for student in profiled(plan.study, plan.study.exhibits[paper, name])}
    return sorted(paths - plan.config.run_sources.failed.keys())


def trials(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the trials of the grids whose best a table holds against a reported best."""
    study, failed = plan.study, plan.config.run_sources.failed
    pairs = gridded(study, study.exhibits[paper, name])
    return [path for pair in pairs for path in grid_parts(study, *pair) if path not in failed]


def submissions(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the zip files of the students in a table that only a server can score; none below scale 'paper'."""
    pairs = served(plan.study, plan.study.exhibits[paper, name]) if plan.sends else []
    zips = dict.fromkeys(submission_address(plan.study, student) for student, _ in pairs)
    return [path for path in zips if path not in plan.config.run_sources.failed]


def compares(plan: Plan, paper: str, name: str) -> list[Any]:
    """Return what a table of paired tests uses of each table that it compares; empty for other tables.

    For each table these are [student, label, baseline] of every row with a student, followed by the (task, metric)
    pairs that the first of these rows shows, and by what each column assumes of the luck of a distillation.
    """
    exhibits, used = plan.study.exhibits, []
    for table in (exhibits[paper, other] for other in exhibits[paper, name].compares()):
        rows: list[Any] = [row for row in table.compared_rows().values() if row.student]
        pairs = [list(pair) for row in rows[:1] for pair in metrics_by_student(table).get(row.student, [])]
        columns = dict.fromkeys(cell.column for cell in table.cells())
        spreads = [assumed_spread([*table.judging(column), plan.study.papers[paper]]) for column in columns]
        assumed = [spread.distillation_std for spread in spreads]
        used.append([[row.student, row.label, row.baseline] for row in rows] + pairs + assumed)
    return used


def verdicts(plan: Plan, paper: str, name: str) -> list[Any]:
    """Return the version of the verdicts, the deviations that the paper's own file assumes, and recorded numbers.

    The numbers are those of a recorded run at this scale, or of a study of ours, if there is one.
    """
    own = plan.study.papers[paper]
    assumed = [each and each.points for each in (own.assumed_std, own.assumed_distillation_std)]
    run = plan.study.record_of(paper) or plan.study.recordings.get((paper, plan.config.scale))
    recorded = [run.tables.get(name, {}), run.by_seed.get(name, {}), run.replacements, run.run] if run else []
    return [VERSIONS["verdicts"], *assumed, *recorded]


def shown_settings(plan: Plan, paper: str, name: str) -> list[str]:
    """Return what a table shows of our settings, without the changes of a scale: cells, and digests for its costs."""
    exhibit, written = plan.study.exhibits[paper, name], plan.study.written
    texts = [our_text(written, paper, cell) for cell in exhibit.settings_cells()]
    trainings = [json.dumps(readable_settings(written, *pair), sort_keys=True) for pair in exhibit.trainings()]
    return [*texts, *(hashlib.sha256(each.encode()).hexdigest() for each in trainings)]


def reasons_left_out(plan: Plan, paper: str, name: str) -> list[str]:
    """Return why this run leaves cells of a table or figure out; empty if it makes them all."""
    exhibits = plan.study.exhibits
    shown = [exhibits[paper, name], *(exhibits[paper, other] for other in exhibits[paper, name].compares())]
    return sorted({reason for exhibit in shown for reason in left_out(plan.study, exhibit)})


# --- pages


def files_of_claims(plan: Plan, paper: str) -> list[str]:
    """Return the YAML files that the claims of a paper stand in, and those of its recorded runs and replications."""
    nearby = ["paper.yaml"] if plan.study.papers[paper].claims else []
    return [
        *_own(plan.study, paper, "claims.yaml", *nearby),
        *recorded_files(plan.study, paper),
        *replications(plan.study, paper),
    ]


def tables_of_claims(plan: Plan, paper: str) -> list[str]:
    """Return the CSV files of the tables that the claims of a paper are about."""
    claims = plan.study.claims.get(paper, {})
    return _csvs(paper, sorted({name for claim in claims.values() for name in claim.tables}))


def files_of_page(plan: Plan, paper: str) -> list[str]:
    """Return the files of the study that a paper's page prints; those of all settings if it is not run."""
    if paper in plan.study.unrun:
        settings = [path for name in FOLDERS for path in plan.config.files(f"{name}/*.yaml")]
        return [*_files_of(plan.study, [paper]), *map(file_of_study, settings)]
    study = plan.study
    recorded = [*replications(study, paper), *recorded_files(study, paper)]
    own = [*_own(study, paper, "paper.yaml", "budget.svg"), *recorded]
    if study.papers[paper].ours:
        return own
    return [*own, *_own(plan.study, paper, "audit.yaml"), *map(file_of_study, plan.config.files("facts.yaml"))]


def exhibits_on_page(plan: Plan, paper: str) -> list[str]:
    """Return the tables and figures that the page of a paper shows."""
    shown = [f"{name}.{ENDINGS[noun]}" for noun in ENDINGS for name in _names(plan.study, paper, noun)]
    return [f"reports/{paper}/{name}" for name in shown]


def claims_on_page(plan: Plan, paper: str) -> list[str]:
    """Return the claims of a paper as judged, as data and as a page; empty if the paper has no claims."""
    judged = [f"results/tables/{paper}/claims.json", f"reports/{paper}/claims.html"]
    return judged if plan.study.claims.get(paper) else []


def headlines(plan: Plan) -> list[str]:
    """Return what the index shows: the first table of each study of ours, and the figures of answers."""
    study = plan.study
    ours = [paper for paper in study.papers if study.papers[paper].ours]
    tables = [f"reports/{each}/{name}.html" for each in ours for name in _names(study, each, "table")[:1]]
    figures = dict.fromkeys(answer.picture.partition("/")[::2] for answer in study.answers.values())
    return [*tables, *(f"reports/{paper}/{name}.svg" for paper, name in figures if name and paper in study.papers)]


def files_of_index(plan: Plan) -> list[str]:
    """Return the YAML files that the index prints: of each paper, and of what is asked and answered across papers."""
    study = plan.study
    own = [
        (*_own(study, paper, "paper.yaml"), *replications(study, paper), *recorded_files(study, paper))
        for paper in study.papers
    ]
    shared = [path for name in (ANSWERS, ACROSS) for path in study.config.files(name)]
    return [*map(file_of_study, shared), *itertools.chain.from_iterable(own)]


def tables_of_index(plan: Plan) -> list[str]:
    """Return the CSV files of all tables."""
    return [path for paper in plan.study.papers for path in _csvs(paper, _names(plan.study, paper, "table"))]


def claims_of_index(plan: Plan) -> list[str]:
    """Return the claims pages of all papers."""
    return [path for paper in plan.study.papers for path in claims_on_page(plan, paper)]


def files_of_audit(plan: Plan) -> list[str]:
    """Return the files of published papers, which the audit reads."""
    return _files_of(plan.study, papers_of_others(plan.study))


class Prints:
    """What printing jobs depend on besides files: functions from the wildcards of a job to params of its rule.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @functools.cached_property
    def code(self) -> dict[str, str]:
        """The code that prints: what it reports is printed anew once it changes."""
        return {"the code that prints": provenance.digest_printing()}

    compares = given(compares, "paper", "table")
    left_out_of_table = given(reasons_left_out, "paper", "table")
    left_out_of_figure = given(reasons_left_out, "paper", "figure")
    verdicts = given(verdicts, "paper", "table")
    shown_settings = given(shown_settings, "paper", "table")

    def scale(self, of: Wildcards) -> str:
        """Return the scale at which a paper is run; empty for one that is only shown."""
        return self.plan.study.scale_of(of.paper)

    def deviations(self, of: Wildcards) -> list[list[str]]:
        """Return the deviations of each student of a paper: of each its text, then the settings that it decides."""
        study = self.plan.study
        specs = [spec for name, spec in study.students.items() if study.paper_of(name) == of.paper]
        return [[text for one in spec.deviations for text in (one.text, *one.of)] for spec in specs]


def _names(study: Study, paper: str, noun: str) -> list[str]:
    """Return the names of a paper's tables or figures, in the order of the report."""
    return [name for name in study.exhibits_of(paper) if name.startswith(noun)]


def _own(study: Study, paper: str, *names: str) -> list[str]:
    """Return the paths of the named files that exist in a paper's folder."""
    paths = [study.folders[paper] / name for name in names]
    return [file_of_study(path) for path in paths if path.is_file()]


def replications(study: Study, paper: str) -> list[str]:
    """Return the files of what others measured of a paper's models."""
    return list(map(file_of_study, sorted(study.folders[paper].glob("replications/*.yaml"))))


def recorded_files(study: Study, paper: str) -> list[str]:
    """Return the recorded runs of a paper, and their scales, which say whether a run still has their settings."""
    recorded = sorted(study.folders[paper].glob("recorded/*.yaml"))
    scales = [scale for path in recorded for scale in study.config.files(f"scales/{path.name}")]
    return list(map(file_of_study, [*recorded, *scales]))


def papers_of_others(study: Study) -> list[str]:
    """Return the folders of all published papers of a study, also of those that a run leaves out."""
    return [path.parent.name for path in study.config.files("papers/*/paper.yaml") if not is_ours(path)]


def _files_of(study: Study, papers: Iterable[str]) -> list[str]:
    """Return the files that the audit, and the pages of papers that are not run, read; empty without papers."""
    folders = [study.folders[paper] for paper in papers]
    patterns = ("*.yaml", "recorded/*", "replications/*.yaml", "budget.svg")
    files = [path for folder in folders for pattern in patterns for path in sorted(folder.glob(pattern))]
    scales = study.config.files("scales/*.yaml")  # they say whether a recorded run still has their settings
    shared = [path for pattern in ("facts.yaml", COLUMNS) for path in study.config.files(pattern)]
    return list(map(file_of_study, [*shared, *scales, *files])) if files else []


def audit_page(study: Study) -> list[str]:
    """Return the page of the audit; empty if the study has no published paper."""
    return ["reports/audit.html"] if papers_of_others(study) else []


def pages(study: Study) -> list[str]:
    """Return the page of every paper."""
    return [f"reports/{paper}/index.html" for paper in study.papers]


def first(study: Study) -> list[str]:
    """Return the file to make first: the first table of our first study; empty without a study of ours."""
    ours = [paper for paper, spec in study.papers.items() if spec.ours]
    tables = [(paper, name) for paper in ours[:1] for name in _names(study, paper, "table")[:1]]
    return [f"reports/{paper}/{name}.html" for paper, name in tables]
