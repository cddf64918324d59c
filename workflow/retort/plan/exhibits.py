"""The files that tables, figures and claims read."""

from __future__ import annotations

import functools
import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.plan.plan import Plan
from retort.plan.settings_cells import our_text, readable_settings
from retort.plan.value_lines import relative_to_here
from retort.plan.versions import VERSIONS
from retort.specs.exhibit import Exhibit
from retort.study.cells import Cell, is_judged, left_out, profile_address, profiled, score_address, sent_runs
from retort.study.load import is_ours, open_written
from retort.study.study import Study

Wildcards = Any


def recorded_files(study: Study, paper: str) -> list[str]:
    """Return the recorded runs of a paper, and their scales, which say whether a run still has their settings."""
    recorded = sorted((study.folder / "papers" / paper).glob("recorded/*.yaml"))
    scales = [study.folder / "scales" / path.name for path in recorded]
    return list(map(relative_to_here, [*recorded, *filter(Path.is_file, scales)]))


class Exhibits:
    """The plan of the tables and figures. Methods that take wildcards are input functions of rules.

    Args:
        plan: the plan of the study.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.study = plan, plan.study

    def exhibit_file(self, paper: str, name: str) -> str:
        """Return the YAML file of a table or figure.

        Raises:
            RetortError: the paper has none of this name.
        """
        if (paper, name) not in self.study.exhibits:
            there = ", ".join(self.study.exhibits_of(paper))
            raise RetortError(f"no table or figure of '{paper}' is called '{name}'", f"there are: {there}")
        return relative_to_here(self.study.files["exhibits", f"{paper}/{name}"])

    def _cells(self, paper: str, name: str) -> list[Cell]:
        """Return the cells of a table or figure; for one that compares tables, the cells of those tables."""
        names = self.study.exhibits[paper, name].compares() or [name]
        return [cell for cell in self.plan.cells if cell.paper == paper and cell.table in names]

    def scores(self, paper: str, name: str) -> list[str]:
        """Return the score files that a table or figure reads."""
        read = {(cell.student, cell.task, cell.seed) for cell in self._cells(paper, name)}
        sent = sent_runs(self.study, self.study.exhibits[paper, name]) if self.plan.sends else set()
        return sorted({score_address(*run) for run in read | sent} - self.plan.config.run_sources.failed.keys())

    def profiles(self, paper: str, name: str) -> list[str]:
        """Return the profile files that a table or figure reads."""
        paths = {profile_address(student) for student in profiled(self.study, self.study.exhibits[paper, name])}
        return sorted(paths - self.plan.config.run_sources.failed.keys())

    def table_file(self, wildcards: Wildcards) -> str:
        """Return the YAML file of a table."""
        return self.exhibit_file(wildcards.paper, wildcards.table)

    def table_scores(self, wildcards: Wildcards) -> list[str]:
        """Return the score files of a table."""
        return self.scores(wildcards.paper, wildcards.table)

    def table_profiles(self, wildcards: Wildcards) -> list[str]:
        """Return the profile files of a table."""
        return self.profiles(wildcards.paper, wildcards.table)

    def figure_file(self, wildcards: Wildcards) -> str:
        """Return the YAML file of a figure."""
        return self.exhibit_file(wildcards.paper, wildcards.figure)

    def figure_scores(self, wildcards: Wildcards) -> list[str]:
        """Return the score files of a figure."""
        return self.scores(wildcards.paper, wildcards.figure)

    def figure_profiles(self, wildcards: Wildcards) -> list[str]:
        """Return the profile files of a figure."""
        return self.profiles(wildcards.paper, wildcards.figure)

    def figure_tables(self, wildcards: Wildcards) -> list[str]:
        """Return the tidy CSV files of the tables that a figure draws; empty if it draws none."""
        names = self.study.exhibits[wildcards.paper, wildcards.figure].draws()
        return [f"results/tables/{wildcards.paper}/{name}.csv" for name in names]

    def claims_files(self, wildcards: Wildcards) -> list[str]:
        """Return the YAML file of a paper's claims, and the recorded runs on which they are judged, too."""
        claims = relative_to_here(self.study.folder / "papers" / wildcards.paper / "claims.yaml")
        return [claims, *recorded_files(self.study, wildcards.paper)]

    def claim_tables(self, wildcards: Wildcards) -> list[str]:
        """Return the tidy CSV files from which a paper's claims are judged."""
        names = sorted({name for claim in self.study.claims.get(wildcards.paper, {}).values() for name in claim.tables})
        return [f"results/tables/{wildcards.paper}/{name}.csv" for name in names]


# The params of the rules of tables and figures: what their results depend on besides input files.


class ExhibitParams:
    """The params of the rules of tables and figures.

    Args:
        study: the study, with what this run leaves out.
    """

    def __init__(self, study: Study) -> None:
        self.study = study

    def compares(self, wildcards: Wildcards) -> list[Any]:
        """Return what a table of paired tests uses of each table that it compares; empty for other tables.

        For each table these are [student, label, baseline] of every row with a student, followed by the (task, metric)
        pairs that the first of these rows shows.
        """
        compared = [(table, self._rows(table)) for table in self._compared(wildcards.paper, wildcards.table)]
        return [
            [[row.student, row.label, row.baseline] for row in rows]
            + [list(pair) for row in rows[:1] for pair in table.metrics_of(row.student)]
            for table, rows in compared
        ]

    def verdicts(self, wildcards: Wildcards) -> list[Any]:
        """Return the version of the verdicts, the points that the paper's own file sets for them, and recorded numbers.

        The numbers are those of a recorded run at this scale, if there is one.
        """
        paper = self.study.papers[wildcards.paper]
        points = [level and level.points for level in (paper.margin, paper.assumed_std)]
        recording = self.study.recordings.get((wildcards.paper, self.study.config.scale))
        recorded = [recording.tables.get(wildcards.table, {}), recording.replacements] if recording else []
        return [VERSIONS["verdicts"], *points, *recorded]

    @cached_property
    def written(self) -> Study:
        """The study as its files have it, without the changes of the scale."""
        return open_written(self.study.config)

    def settings(self, wildcards: Wildcards) -> list[str]:
        """Return what a table shows of our settings: the texts of its settings cells, and digests for its costs."""
        exhibit = self.study.exhibits[wildcards.paper, wildcards.table]
        texts = [our_text(self.written, wildcards.paper, cell) for cell in exhibit.settings_cells()]
        return [*texts, *(_digest(readable_settings(self.written, *pair)) for pair in exhibit.trainings())]

    def left_out_of_table(self, wildcards: Wildcards) -> list[str]:
        """Return why this run leaves cells of a table out; empty if it makes them all."""
        return self._left_out(wildcards.paper, wildcards.table)

    def left_out_of_figure(self, wildcards: Wildcards) -> list[str]:
        """Return why this run leaves points of a figure out; empty if it makes them all."""
        return self._left_out(wildcards.paper, wildcards.figure)

    def _compared(self, paper: str, name: str) -> list[Exhibit]:
        return [self.study.exhibits[paper, other] for other in self.study.exhibits[paper, name].compares()]

    def _rows(self, table: Exhibit) -> list[Any]:
        return [row for row in table.compared_rows().values() if row.student]

    def _left_out(self, paper: str, name: str) -> list[str]:
        exhibits = [self.study.exhibits[paper, name], *self._compared(paper, name)]
        return sorted({reason for exhibit in exhibits for reason in left_out(self.study, exhibit)})


def _digest(settings: Any) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


# The files that the pages of the report are made from: the input functions of workflow/rules/report.smk.


ENDINGS = {"table": "html", "figure": "svg"}


def printed_papers(study: Study) -> list[str]:
    """Return the folders of all printed papers of a study, also of those that a run leaves out."""
    return [path.parent.name for path in sorted(study.folder.glob("papers/*/paper.yaml")) if not is_ours(path)]


def unrun_papers(study: Study) -> list[str]:
    """Return the printed papers that are shown without being run.

    These are all where the scale runs our own studies alone, and none where the configuration names papers.
    """
    shown = study.config.papers is None and study.scale.papers == "ours"
    return [paper for paper in printed_papers(study) if paper not in study.papers] if shown else []


class Pages:
    """The plan of the report: an index, one page per paper, and the audit.

    Args:
        plan: the plan of the study.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.study = plan, plan.study

    @functools.cached_property
    def audited(self) -> list[str]:
        """The files that the audit and the pages of the printed papers read; empty if the study has none."""
        folder = self.study.folder
        papers = [folder / "papers" / paper for paper in printed_papers(self.study)]
        patterns = ("*.yaml", "recorded/*.yaml")  # the pages of printed papers read recorded runs as well
        files = [path for paper in papers for pattern in patterns for path in sorted(paper.glob(pattern))]
        scales = sorted(folder.glob("scales/*.yaml"))  # they say whether a recorded run still has their settings
        facts = folder / "facts.yaml"
        if not files:
            return []
        return [relative_to_here(path) for path in (*([facts] if facts.is_file() else []), *scales, *files)]

    @property
    def audit(self) -> list[str]:
        """The page of the audit; empty if the study has no printed paper."""
        return ["reports/audit.html"] if self.audited else []

    @property
    def pages(self) -> list[str]:
        """The page of every paper."""
        return [f"reports/{paper}/index.html" for paper in self.study.papers]

    @property
    def printed(self) -> list[str]:
        """The pages of the printed papers that are shown without being run."""
        return [f"reports/{paper}/index.html" for paper in unrun_papers(self.study)]

    @property
    def entries(self) -> list[str]:
        """The file with the entries of the index for `printed`; empty if there are none."""
        return ["results/tables/printed.json"] if self.printed else []

    @property
    def first(self) -> list[str]:
        """The file to make first: the first table of our first study, or its plot; empty without a study of ours."""
        ours = [paper for paper, spec in self.study.papers.items() if spec.ours]
        tables = [(paper, name) for paper in ours[:1] for name in self._names(paper)[:1]]
        return [
            f"reports/{paper}/{name}.{'svg' if is_judged(self.study, paper, name) else 'html'}"
            for paper, name in tables
        ]

    @property
    def papers(self) -> list[str]:
        """The `paper.yaml` and the recorded runs of every paper."""
        return [
            path
            for paper in self.study.papers
            for path in (*self._own(paper, "paper.yaml"), *recorded_files(self.study, paper))
        ]

    @property
    def tidy(self) -> list[str]:
        """The tidy CSV files of all tables that the papers show."""
        return [f"results/tables/{paper}/{name}.csv" for paper in self.study.papers for name in self._names(paper)]

    @property
    def headlines(self) -> list[str]:
        """The first table of each of our own studies (`ours: true`), which the index shows."""
        ours = [paper for paper, spec in self.study.papers.items() if spec.ours]
        return [f"reports/{paper}/{name}.html" for paper in ours for name in self._names(paper)[:1]]

    @property
    def judged(self) -> list[str]:
        """The claims page of every paper that has claims."""
        return [path for paper in self.study.papers for path in self._claims(paper)]

    def _own(self, paper: str, *names: str) -> list[str]:
        """Return the paths of the named files that exist in a paper's folder."""
        paths = [self.study.folder / "papers" / paper / name for name in names]
        return [relative_to_here(path) for path in paths if path.is_file()]

    def _names(self, paper: str, noun: str = "table") -> list[str]:
        """Return the names of a paper's tables or figures, in the order of the report."""
        return [name for name in self.study.exhibits_of(paper) if name.startswith(noun)]

    def _claims(self, paper: str) -> list[str]:
        return [f"reports/{paper}/claims.html"] if self.study.claims.get(paper) else []

    def files(self, wildcards: Wildcards) -> list[str]:
        """Return the paper's own YAML files that its page prints, besides tables and claims."""
        printed = [] if self.study.papers[wildcards.paper].ours else ["audit.yaml", "../../facts.yaml"]
        own = self._own(wildcards.paper, "paper.yaml", *printed)
        return [*own, *recorded_files(self.study, wildcards.paper)]

    def rendered(self, wildcards: Wildcards) -> list[str]:
        """Return the tables and figures of a paper, and the plots of the tables' verdicts."""
        paper = wildcards.paper
        judged = [name for name in self._names(paper) if is_judged(self.study, paper, name)]
        shown = [f"reports/{paper}/{name}.{ENDINGS[noun]}" for noun in ENDINGS for name in self._names(paper, noun)]
        return [*shown, *(f"reports/{paper}/{name}.svg" for name in judged)]

    def claims(self, wildcards: Wildcards) -> list[str]:
        """Return the claims page of a paper; empty if the paper has no claims."""
        return self._claims(wildcards.paper)

    def deviations(self, wildcards: Wildcards) -> list[list[str]]:
        """Return the deviations of each student of a paper: of each its text, then the settings that it decides."""
        students = self.study.students.items()
        specs = [spec for name, spec in students if self.study.paper_of(name) == wildcards.paper]
        return [[text for one in spec.deviations for text in (one.text, *one.of)] for spec in specs]
