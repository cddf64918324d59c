"""Edits of one of the tiny study's files, of which each makes a mistake."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edits:
    """Edits of one file, of which each makes one mistake.

    Args:
        file: the file, in the folder of the tiny study.
        rows: (a text, what replaces it at its first occurrence, how the only line begins). The line stands after the
            name of the file and `at`, but begins with 'study/' if it is about another file.
        before: text that is added to the end of the file first, and that is right.
        at: the key with which all of the lines begin.
    """

    file: str
    rows: list[tuple[str, str, str]]
    before: str = ""
    at: str = ""
