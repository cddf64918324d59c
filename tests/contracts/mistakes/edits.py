"""An edit of one of the tiny study's files that makes a mistake."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edits:
    """Edits of one text of one file, of which each makes one mistake.

    Args:
        file: the file, in the folder of the tiny study.
        old: the text that is replaced, at its first occurrence.
        rows: (what it is replaced by, how the only line begins, after the name of the file and `at`). The line begins
            with 'study/' if it is about another file.
        before: text that is added to the end of the file first, and that is right.
        at: the key with which all of the lines begin.
    """

    file: str
    old: str
    rows: list[tuple[str, str]]
    before: str = ""
    at: str = ""
