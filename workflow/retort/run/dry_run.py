"""The short form of a dry run: the jobs of each rule, why they would run, and what has changed in their settings."""

from __future__ import annotations

import ast
import logging
from collections import Counter
from collections.abc import Iterator
from textwrap import shorten
from typing import Any

from snakemake_interface_logger_plugins.common import LogEvent

from retort.settings.folder_digests import changed_files
from retort.settings.inputs import setting_differences

LOGGER = "retort"  # the plugin that writes the short form
WIDTH = 160  # characters of a line, at most
MOST_LINES = 60  # of reasons
MOST_CHANGES = 3  # of a job's settings
SETTINGS = "Params have changed"
# What Snakemake says of a job -> our words. A job is counted under the first that is said of it: what follows from
# another job comes last.
REASONS = {
    SETTINGS: "settings have changed",
    "Set of input files has changed": "it reads other files than before",
    "Software environment definition has changed": "its software environment has changed",
    "Forced execution": "forced",
    "Updated input files": "a file that it reads is newer",
    "Incomplete output files": "it was interrupted",
    "Missing output files": "not made yet",
    "Input files updated by another job": "follows from other jobs",
}
REASONS_OF_RULES = "Reasons:"  # Snakemake's own list of them
# other messages of Snakemake: one for each folder that it would remove, and two on lines that are left out
OF_LINES = ("Would remove temporary output", "Some jobs were triggered by", "Rules with provenance triggered jobs")


def is_short(settings: Any) -> bool:
    """Return whether a dry run is written in the short form: by our logger, unless it is asked for more, or for less.

    Args:
        settings: Snakemake's settings of what it writes.
    """
    said = settings.printshellcmds or settings.verbose or settings.debug_dag or settings.quiet
    return bool(settings.dryrun and not said)


class ShortForm:
    """What is written of the records of a dry run: one table of jobs and one of reasons, no line for each job."""

    def __init__(self) -> None:
        self.reasons, self.begun = Counter[tuple[str, str]](), False

    def shortened(self, record: logging.LogRecord) -> logging.LogRecord | None:
        """Return a record as it is written; None for one of a single job, which is only counted."""
        event, text = getattr(record, "event", None), str(record.msg)
        if event == LogEvent.JOB_INFO:
            for reason in _reasons(str(vars(record)["reason"])):
                self.reasons[vars(record)["rule_name"], reason] += 1
        repeated = event == LogEvent.RUN_INFO and self.begun  # Snakemake repeats its table at the end
        self.begun |= event == LogEvent.RUN_INFO
        if repeated or event in (LogEvent.JOB_INFO, LogEvent.SHELLCMD) or text.startswith(OF_LINES):
            return None
        if text.startswith(REASONS_OF_RULES):
            record.msg = self._why()
        return record

    def _why(self) -> str:
        """Return the table of reasons."""
        shown = sorted(self.reasons.items(), key=lambda item: (item[0][0], -item[1]))
        lines = [f"    {count:5}  {rule}: {reason}" for (rule, reason), count in shown[:MOST_LINES]]
        more = [f"    and {len(shown) - MOST_LINES} more"] if len(shown) > MOST_LINES else []
        return "\n".join(["Reasons (with -p, Snakemake lists every job):", *lines, *more])


def _reasons(said: str) -> list[str]:
    """Return why a job would run, in a few words: each change of its settings, or the first reason of `REASONS`."""
    first = next((reason for reason in REASONS if reason in said), "")
    changes = list(_changes(said)) if first == SETTINGS else []
    more = [f"and {len(changes) - MOST_CHANGES} more settings"] if len(changes) > MOST_CHANGES else []
    return [*changes[:MOST_CHANGES], *more] or [REASONS.get(first) or shorten(said, WIDTH, placeholder="…")]


def _changes(said: str) -> Iterator[str]:
    """Yield 'key: old -> new' for each setting that Snakemake says has changed; nothing if it cannot be read.

    Of the digest of a source, yield the files that have changed, where they are known.
    """
    _, _, both = said.partition(" before: ")
    before, _, now = both.rpartition(" now: ")
    try:  # values of Python, divided by commas
        old, new = (ast.literal_eval(f"[{text.split('; Software')[0]}]") for text in (before, now))
    except (SyntaxError, ValueError):
        return
    for recorded, expected in _alike(old, new):
        for key, was, is_now in setting_differences(recorded, expected):
            if key.endswith("sha256") and (files := changed_files(str(was))):
                more = f" and {len(files) - MOST_CHANGES} more" * (len(files) > MOST_CHANGES)
                where = key.removesuffix("sha256").rstrip(".") or "the source"
                yield f"{where} has changed: {', '.join(files[:MOST_CHANGES])}{more}"
                continue
            was, is_now = (shorten(str(value), WIDTH // 3, placeholder="…") for value in (was, is_now))
            yield f"{key or 'a setting'}: {was} -> {is_now}"


def _alike(old: list[Any], new: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of values before and now: Snakemake gives them without names and in no order."""
    for value in new:
        if old:
            like = max(old, key=lambda each: (type(each) is type(value), len(_keys(each) & _keys(value))))
            old = [each for each in old if each is not like]
            yield like, value


def _keys(value: Any) -> set[str]:
    return set(value) if isinstance(value, dict) else set()
