"""The files that the pages of the report are made from: the input functions of workflow/rules/report.smk."""

from __future__ import annotations

import functools
from typing import Any

from retort.plan.exhibits import recorded_files
from retort.plan.origins import relative_to_here
from retort.plan.plan import Plan
from retort.study.cells import is_judged
from retort.study.load import is_ours
from retort.study.study import Study

Wildcards = Any
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
