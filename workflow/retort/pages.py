"""Which files the pages of the report are made from: the input functions of workflow/rules/report.smk."""

from __future__ import annotations

from typing import Any

from retort.plan import Plan
from retort.specs.book import is_ours

Wildcards = Any
ENDINGS = {"table": "html", "figure": "svg"}


class Pages:
    """The part of the plan that makes the report: an index, and a page a paper.

    Args:
        plan: the plan of the study.

    Attributes:
        audited: the files that the audit of the printed papers reads.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.book = plan, plan.book
        self.audited = self._audited()

    def _audited(self) -> list[str]:
        """The files that the audit of the printed papers reads; none where the study's folder has no such paper."""
        folder = self.book.folder
        printed = [path.parent for path in sorted(folder.glob("papers/*/paper.yaml")) if not is_ours(path)]
        files = [path for paper in printed for path in sorted(paper.glob("*.yaml"))]
        facts = folder / "facts.yaml"
        return [self.plan.shown(path) for path in (*([facts] if facts.is_file() else []), *files)] if files else []

    @property
    def audit(self) -> list[str]:
        """The page of the audit; none where the study's folder has no printed paper."""
        return ["reports/audit.html"] if self.audited else []

    @property
    def pages(self) -> list[str]:
        """The page of every paper."""
        return [f"reports/{paper}/index.html" for paper in self.book.papers]

    @property
    def papers(self) -> list[str]:
        """The paper.yaml of every paper."""
        return [path for paper in self.book.papers for path in self._own(paper, "paper.yaml")]

    @property
    def tidy(self) -> list[str]:
        """The tidy files of every table that a paper shows."""
        return [f"results/tables/{paper}/{name}.csv" for paper in self.book.papers for name in self._shown(paper)]

    @property
    def headlines(self) -> list[str]:
        """The first table of every study of ours, as the index shows it."""
        ours = [paper for paper, spec in self.book.papers.items() if spec.ours]
        return [f"reports/{paper}/{name}.html" for paper in ours for name in self._shown(paper)[:1]]

    @property
    def judged(self) -> list[str]:
        """The claims of every paper that has some."""
        return [path for paper in self.book.papers for path in self._claims(paper)]

    def _own(self, paper: str, *names: str) -> list[str]:
        paths = [self.book.folder / "papers" / paper / name for name in names]
        return [self.plan.shown(path) for path in paths if path.is_file()]

    def _shown(self, paper: str, kind: str = "table") -> list[str]:
        return [name for name in self.book.shown(paper) if name.startswith(kind)]

    def _claims(self, paper: str) -> list[str]:
        return [f"reports/{paper}/claims.html"] if self.book.claims.get(paper) else []

    def files(self, wildcards: Wildcards) -> list[str]:
        """What a page prints of its paper's own files, besides tables and claims."""
        printed = [] if self.book.papers[wildcards.paper].ours else ["audit.yaml", "../../facts.yaml"]
        return self._own(wildcards.paper, "paper.yaml", *printed)

    def rendered(self, wildcards: Wildcards) -> list[str]:
        """The tables and figures of a paper."""
        paper = wildcards.paper
        return [f"reports/{paper}/{name}.{ENDINGS[kind]}" for kind in ENDINGS for name in self._shown(paper, kind)]

    def claims(self, wildcards: Wildcards) -> list[str]:
        """The claims of a paper, where it has some."""
        return self._claims(wildcards.paper)

    def deviations(self, wildcards: Wildcards) -> list[list[str]]:
        """What a page says of the choices that were made for its paper's students."""
        students = self.book.students.items()
        mine = [spec for name, spec in students if self.book.paper_of(name) == wildcards.paper]
        return [spec.deviations for spec in mine]
