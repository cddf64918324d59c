"""The rules of tables, figures and claims, and of the pages that show them: an index, one page per paper, the audit."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from snakemake.io import ancient, report

from retort.errors import RetortError
from retort.plan.plan import Plan, relative_to_here
from retort.plan.resolve_data import VERSIONS
from retort.plan.rule import Rule, matching
from retort.plan.settings_cells import our_text, readable_settings
from retort.plan.sharing import grid_parts
from retort.study.cells import (
    gridded,
    left_out,
    profile_address,
    profiled,
    score_address,
    sent_runs,
    served,
    submission_address,
)
from retort.study.load import open_written
from retort.study.study import Study
from retort.study.yaml_files import ACROSS, COLUMNS, is_ours

Wildcards = Any

TABLE, FIGURE = "table[a-z0-9-]*", "figure[a-z0-9-]*"
TIDY, PRINTED = "results/tables/{paper}/", "reports/{paper}/"
ENDINGS = {"table": "html", "figure": "svg"}


def _of(plan: Plan, noun: str, give: Callable[[Plan, str, str], Any]) -> Callable[[Wildcards], Any]:
    """Return a function from wildcards to what is given for a table or figure."""
    return lambda wildcards: give(plan, wildcards.paper, getattr(wildcards, noun))


def rules_of_tables(plan: Plan) -> Iterator[Rule]:
    """Yield the rules of tables, and of the claims that are judged on them."""
    study = plan.study

    @functools.cache
    def written() -> Study:
        return study if study.is_as_written else open_written(study.config)

    yield Rule(
        "make_table",
        {
            "csv": f"{TIDY}{{table}}.csv",
            "md": f"{PRINTED}{{table}}.md",
            "tex": f"{PRINTED}{{table}}.tex",
            "html": _shown(f"{PRINTED}{{table}}.html", "tables", "table"),
        },
        {
            "table": _of(plan, "table", files_of_table),
            "scores": _of(plan, "table", scores),
            "profiles": _of(plan, "table", profiles),
            "trials": _of(plan, "table", trials),
            "submissions": _of(plan, "table", submissions),
            "recorded": lambda of: recorded_files(study, of.paper) if of.paper in study.unrun else [],
        },
        {
            "compares": _of(plan, "table", compares),
            "left_out": _of(plan, "table", reasons_left_out),
            "verdicts": _of(plan, "table", verdicts),
            "settings": lambda wildcards: shown_settings(plan, written(), wildcards.paper, wildcards.table),
            "scale": lambda wildcards: study.scale_of(wildcards.paper),
        },
        {"table": TABLE},
    )
    yield Rule(
        "check_claims",
        {
            "html": report(f"{PRINTED}claims.html", category="{paper}"),
            "md": f"{PRINTED}claims.md",
            "judged": f"{TIDY}claims.json",
        },
        {
            "claims": lambda of: [
                *_own(study, of.paper, "claims.yaml", *(["paper.yaml"] if study.papers[of.paper].claims else [])),
                *recorded_files(study, of.paper),
            ],
            "tables": lambda of: _tidy(
                of.paper, sorted({name for claim in study.claims.get(of.paper, {}).values() for name in claim.tables})
            ),
        },
    )


def rules_of_figures(plan: Plan) -> Iterator[Rule]:
    """Yield the rule of figures."""
    exhibits = plan.study.exhibits
    yield Rule(
        "plot_figure",
        {
            "csv": f"{TIDY}{{figure}}.csv",
            "svg": _shown(f"{PRINTED}{{figure}}.svg", "figures", "figure"),
            "png": f"{PRINTED}{{figure}}.png",
        },
        {
            "figure": _of(plan, "figure", file_of),
            "scores": _of(plan, "figure", scores),
            "profiles": _of(plan, "figure", profiles),
            "tables": lambda of: _tidy(of.paper, exhibits[of.paper, of.figure].drawn_tables()),
        },
        {"left_out": _of(plan, "figure", reasons_left_out), "scale": lambda of: plan.study.scale_of(of.paper)},
        {"figure": FIGURE},
    )


def _shown(path: str, part: str, noun: str) -> Any:
    """Return an output that Snakemake's own report shows, in a part of its paper."""
    return report(path, category="{paper}", subcategory=part, labels={noun: f"{{{noun}}}"})


def _tidy(paper: str, names: list[str]) -> list[str]:
    """Return the tidy CSV files of tables."""
    return [f"results/tables/{paper}/{name}.csv" for name in names]


def file_of(plan: Plan, paper: str, name: str) -> str:
    """Return the YAML file of a table or figure.

    Raises:
        RetortError: the paper has none of this name.
    """
    study = plan.study
    if (paper, name) not in study.exhibits:
        there = ", ".join(study.exhibits_of(paper))
        raise RetortError(f"no table or figure of '{paper}' is called '{name}'", f"there are: {there}")
    return relative_to_here(study.files["exhibits", f"{paper}/{name}"])


def files_of_table(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the YAML file of a table, and the file of shared columns if the table names a list of them."""
    shared = [relative_to_here(plan.study.folder / COLUMNS)] if (paper, name) in plan.study.with_columns else []
    return [file_of(plan, paper, name), *shared]


def scores(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the score files that a table or figure reads; those of the compared tables if it compares tables."""
    exhibit = plan.study.exhibits[paper, name]
    names = exhibit.compares() or [name]
    cells = [cell for cell in plan.cells if cell.paper == paper and cell.table in names]
    read = {(cell.student, cell.task, cell.seed) for cell in cells}
    sent = sent_runs(plan.study, exhibit) if plan.sends else set()
    return sorted({score_address(*run) for run in read | sent} - plan.config.run_sources.failed.keys())


def profiles(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the profile files that a table or figure reads."""
    paths = {profile_address(student) for student in profiled(plan.study, plan.study.exhibits[paper, name])}
    return sorted(paths - plan.config.run_sources.failed.keys())


def trials(plan: Plan, paper: str, name: str) -> list[str]:
    """Return the trials of the grids whose best a table holds against a published best."""
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
    pairs that the first of these rows shows.
    """
    exhibits, used = plan.study.exhibits, []
    for table in (exhibits[paper, other] for other in exhibits[paper, name].compares()):
        rows: list[Any] = [row for row in table.compared_rows().values() if row.student]
        pairs = [list(pair) for row in rows[:1] for pair in table.metrics_of(row.student)]
        used.append([[row.student, row.label, row.baseline] for row in rows] + pairs)
    return used


def verdicts(plan: Plan, paper: str, name: str) -> list[Any]:
    """Return the version of the verdicts, the deviation that the paper's own file assumes, and recorded numbers.

    The numbers are those of a recorded run at this scale, or of a study of ours, if there is one.
    """
    assumed = plan.study.papers[paper].assumed_std
    run = plan.study.record_of(paper) or plan.study.recordings.get((paper, plan.config.scale))
    recorded = [run.tables.get(name, {}), run.by_seed.get(name, {}), run.replacements, run.run] if run else []
    return [VERSIONS["verdicts"], assumed and assumed.points, *recorded]


def shown_settings(plan: Plan, written: Study, paper: str, name: str) -> list[str]:
    """Return what a table shows of our settings: the texts of its settings cells, and digests for its costs.

    Args:
        plan: the plan.
        written: its study as the files have it, without the changes of the scale.
        paper: the paper.
        name: the table.
    """
    exhibit = plan.study.exhibits[paper, name]
    texts = [our_text(written, paper, cell) for cell in exhibit.settings_cells()]
    trainings = [json.dumps(readable_settings(written, *pair), sort_keys=True) for pair in exhibit.trainings()]
    return [*texts, *(hashlib.sha256(each.encode()).hexdigest() for each in trainings)]


def reasons_left_out(plan: Plan, paper: str, name: str) -> list[str]:
    """Return why this run leaves cells of a table or figure out; empty if it makes them all."""
    exhibits = plan.study.exhibits
    shown = [exhibits[paper, name], *(exhibits[paper, other] for other in exhibits[paper, name].compares())]
    return sorted({reason for exhibit in shown for reason in left_out(plan.study, exhibit)})


def rules_of_pages(plan: Plan) -> Iterator[Rule]:
    """Yield the rules of the pages."""
    study, ran, papers = plan.study, plan.config.run_sources, list(plan.study.papers)
    printed, ours = printed_papers(study), [paper for paper in papers if study.papers[paper].ours]

    def files(of: Wildcards) -> list[str]:
        """Return the files of the study that a paper's page prints: all of the paper's own if it is not run."""
        if of.paper in study.unrun:
            return _files_of(study, [of.paper])
        audited = [] if of.paper in ours else ["audit.yaml", "../../facts.yaml"]
        return [*_own(study, of.paper, "paper.yaml", "budget.svg", *audited), *recorded_files(study, of.paper)]

    def rendered(of: Wildcards) -> list[str]:
        """Return the tables and figures of a paper."""
        shown = [f"{name}.{ENDINGS[noun]}" for noun in ENDINGS for name in _names(study, of.paper, noun)]
        return [f"reports/{of.paper}/{name}" for name in shown]

    def deviations(of: Wildcards) -> list[list[str]]:
        """Return the deviations of each student of a paper: of each its text, then the settings that it decides."""
        specs = [spec for name, spec in study.students.items() if study.paper_of(name) == of.paper]
        return [[text for one in spec.deviations for text in (one.text, *one.of)] for spec in specs]

    yield Rule(
        "make_page",
        {"page": "reports/{paper}/index.html"},
        {"files": files, "rendered": rendered, "claims": lambda of: _claims(study, of.paper)},
        {"deviations": deviations},
        {"paper": matching(papers)},
    )
    yield Rule("make_audit", {"page": "reports/audit.html"}, {"papers": _files_of(study, printed)})
    yield Rule(
        "make_index",
        {"page": "reports/index.html"},
        {
            "across": list(map(relative_to_here, study.folder.glob(ACROSS))),
            "papers": [f for each in papers for f in (*_own(study, each, "paper.yaml"), *recorded_files(study, each))],
            "tables": [path for paper in papers for path in _tidy(paper, _names(study, paper, "table"))],
            "headlines": [f"reports/{each}/{name}.html" for each in ours for name in _names(study, each, "table")[:1]],
            "claims": [path for paper in papers for path in _claims(study, paper)],
            "pages": ancient(pages(study)),
            "audit": ancient(audit_page(study)),
        },
        {"missing": ran.missing, "failed": ran.failures},
    )


def _names(study: Study, paper: str, noun: str) -> list[str]:
    """Return the names of a paper's tables or figures, in the order of the report."""
    return [name for name in study.exhibits_of(paper) if name.startswith(noun)]


def _claims(study: Study, paper: str) -> list[str]:
    """Return the claims of a paper as judged, as data and as a page; empty if the paper has no claims."""
    return [f"results/tables/{paper}/claims.json", f"reports/{paper}/claims.html"] if study.claims.get(paper) else []


def _own(study: Study, paper: str, *names: str) -> list[str]:
    """Return the paths of the named files that exist in a paper's folder."""
    paths = [study.folder / "papers" / paper / name for name in names]
    return [relative_to_here(path) for path in paths if path.is_file()]


def recorded_files(study: Study, paper: str) -> list[str]:
    """Return the recorded runs of a paper, and their scales, which say whether a run still has their settings."""
    recorded = sorted((study.folder / "papers" / paper).glob("recorded/*.yaml"))
    scales = [study.folder / "scales" / path.name for path in recorded]
    return list(map(relative_to_here, [*recorded, *filter(Path.is_file, scales)]))


def printed_papers(study: Study) -> list[str]:
    """Return the folders of all printed papers of a study, also of those that a run leaves out."""
    return [path.parent.name for path in sorted(study.folder.glob("papers/*/paper.yaml")) if not is_ours(path)]


def _files_of(study: Study, papers: Iterable[str]) -> list[str]:
    """Return the files that the audit, and the pages of papers that are not run, read; empty without papers."""
    folders = [study.folder / "papers" / paper for paper in papers]
    patterns = ("*.yaml", "recorded/*", "budget.svg")  # pages read recorded runs as well
    files = [path for folder in folders for pattern in patterns for path in sorted(folder.glob(pattern))]
    scales = sorted(study.folder.glob("scales/*.yaml"))  # they say whether a recorded run still has their settings
    shared = [path for pattern in ("facts.yaml", COLUMNS) for path in study.folder.glob(pattern)]
    return list(map(relative_to_here, [*shared, *scales, *files])) if files else []


def audit_page(study: Study) -> list[str]:
    """Return the page of the audit; empty if the study has no printed paper."""
    return ["reports/audit.html"] if printed_papers(study) else []


def pages(study: Study) -> list[str]:
    """Return the page of every paper."""
    return [f"reports/{paper}/index.html" for paper in study.papers]


def first(study: Study) -> list[str]:
    """Return the file to make first: the first table of our first study; empty without a study of ours."""
    ours = [paper for paper, spec in study.papers.items() if spec.ours]
    tables = [(paper, name) for paper in ours[:1] for name in _names(study, paper, "table")[:1]]
    return [f"reports/{paper}/{name}.html" for paper, name in tables]
