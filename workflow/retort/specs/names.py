"""Names of students and teachers: short inside the files of their own paper, `<paper>-<name>` everywhere else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

from retort.specs.base import Name, Text


@dataclass(frozen=True)
class Names:
    """The names that the files of one paper can use; the context in which these files are validated.

    Args:
        paper: the paper's slug.
        own: the short names of the paper's students and teachers.
        papers: the slugs of all papers of the study.
    """

    paper: str
    own: frozenset[str]
    papers: frozenset[str]

    def full(self, name: str) -> str:
        """Return the full name of a student or teacher, `<paper>-<name>`.

        A name is the paper's own if one of its students or teachers has it, or has a name that begins with it. (A row
        may give the beginning, and its columns the rest.) Any other name that begins with a paper's slug is full.
        """
        is_own = any(f"{own}-".startswith(f"{name}-") for own in self.own)
        is_full = any(name.startswith(f"{paper}-") for paper in self.papers)
        return f"{self.paper}-{name}" if is_own or not is_full else name

    def short(self, name: str) -> str:
        """Return the shortest name that means the same student or teacher inside the paper's files."""
        short = name.removeprefix(f"{self.paper}-")
        return short if self.full(short) == name else name


def known_names(paper: str, own: Iterable[str], papers: Iterable[str]) -> Names:
    """Return the names that a paper's files can use."""
    return Names(paper, frozenset(own), frozenset(papers))


def _full(name: str, info: ValidationInfo) -> str:
    return info.context.full(name) if isinstance(info.context, Names) else name


def _full_pair(pair: str, info: ValidationInfo) -> str:
    return " vs ".join(_full(name, info) for name in pair.split(" vs "))


# A student or teacher: validated in the context of `Names`, the value is its full name.
StudentName = Annotated[Name, AfterValidator(_full)]
# Two students as the results of a test name them: 'kd vs hid-seq'.
StudentPair = Annotated[Text, AfterValidator(_full_pair)]
