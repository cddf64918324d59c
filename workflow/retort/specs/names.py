"""Names of entries: known ones, in the context of a file. Those of students and teachers are short in their own paper.

Everywhere else, a student or teacher is called `<paper>-<name>`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, ValidationInfo

from retort.registry import unknown
from retort.specs.base import Name


@dataclass(frozen=True)
class Names:
    """The names that a file can use; the context in which files are validated.

    Args:
        entries: folder, such as 'tasks' -> its entries by name. Names of a folder that is left out are not checked.
        paper: the slug of the file's paper; empty for a file of none.
        own: the short names of the paper's students and teachers.
    """

    entries: Mapping[str, Mapping[str, Any]]
    paper: str = ""
    own: Collection[str] = ()

    def full(self, name: str) -> str:
        """Return the full name of a student or teacher, `<paper>-<name>`.

        A name is the paper's own if one of its students or teachers has it, or has a name that begins with it. (A row
        may give the beginning, and its columns the rest.) Any other name that begins with a paper's slug is full.
        """
        is_own = any(f"{own}-".startswith(f"{name}-") for own in self.own)
        is_full = any(name.startswith(f"{paper}-") for paper in self.entries["papers"])
        return f"{self.paper}-{name}" if is_own or not is_full else name

    def short(self, name: str) -> str:
        """Return the shortest name that means the same student or teacher inside the paper's files."""
        short = name.removeprefix(f"{self.paper}-")
        return short if self.full(short) == name else name


def entry_of(noun: str, *folders: str, also: str = "") -> AfterValidator:
    """Return a check that a name is that of an entry of some folders.

    Args:
        noun: what the name is a name of, such as 'task'.
        *folders: the folders, as in `Names`.
        also: a word that may stand in place of the name.
    """

    def check(name: str, info: ValidationInfo) -> str:
        entries = info.context.entries if isinstance(info.context, Names) else {}
        if name != also and all(folder in entries for folder in folders):
            known = [each for folder in folders for each in entries[folder]]
            if name not in known:
                raise ValueError(str(unknown(noun, name, known)))
        return name

    return AfterValidator(check)


def _full(name: str, info: ValidationInfo) -> str:
    return info.context.full(name) if isinstance(info.context, Names) and info.context.paper else name


SourceName = Annotated[Name, entry_of("source", "sources")]
ModelName = Annotated[Name, entry_of("model", "models")]
TaskName = Annotated[Name, entry_of("task", "tasks")]
CorpusName = Annotated[Name, entry_of("corpus", "corpora")]
ProtocolName = Annotated[Name, entry_of("protocol", "protocols")]
PaperName = Annotated[Name, entry_of("paper", "papers")]
# A student or teacher: validated in the context of a paper, the value is its full name. Tables may give the beginning
# of a name, so that only the whole table tells whether it exists.
StudentName = Annotated[Name, AfterValidator(_full)]
