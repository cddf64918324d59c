"""Tests of the short form of a dry run."""

from __future__ import annotations

import logging
from typing import Any

from retort.engine.dry_run import WIDTH, ShortForm
from snakemake.persistence import ParamsChange
from snakemake_interface_logger_plugins.common import LogEvent

KINDS = {"finetune_student_1": "finetune_student", "finetune_student_2": "finetune_student", "make_table": "make_table"}


def written(*records: tuple[str, dict[str, Any]]) -> str:
    """Return what is written of messages of Snakemake with these attributes."""
    short, lines = ShortForm(KINDS), []
    for text, attributes in records:
        record = logging.makeLogRecord({"msg": text, **attributes})
        if short.filter(record):
            lines.append(record.getMessage())
    return "\n".join(lines)


def job(rule: str, reason: str) -> tuple[str, dict[str, Any]]:
    """Return what Snakemake says of a job."""
    return f"Rule: {rule}", {"event": LogEvent.JOB_INFO, "rule_name": rule, "reason": reason}


def because(old: list[Any], new: list[Any]) -> str:
    """Return Snakemake's reason for a job whose params have changed from `old` to `new`."""
    change = ParamsChange(only_old=set(map(repr, old)), only_new=set(map(repr, new)))
    return f"Missing output files: a; Params have changed since last execution: {change}"


STATS = {"event": LogEvent.RUN_INFO, "stats": {"finetune_student_1": 2, "finetune_student_2": 1, "total": 3}}


def test_jobs_are_counted_by_kind_and_told_once() -> None:
    said = written(
        ("Job stats: of rules", STATS), ("Shell command: None", {"event": LogEvent.SHELLCMD}), ("again", STATS)
    )
    assert said == "Job stats:\nfinetune_student        3\ntotal                   3\n"


def test_a_changed_setting_is_told_by_its_key_with_its_old_and_its_new_value() -> None:
    old = {"schedule": {"learning_rate": 1e-05, "steps": 9}, "note": "x" * 1000}
    new = {"schedule": {"learning_rate": 2e-05, "steps": 9}, "note": "y " * 1000}
    said = written(
        job("finetune_student_1", because([old, 1], [new, 2])),
        job("finetune_student_2", because([{"lost": "}"}], [{"lost": None}])),
        job("make_table", "Missing output files: b; Input files updated by another job: c"),
        job("make_table", "Params have changed since last execution: <what nobody can read>"),
        ("Would remove temporary output results/x", {}),
        ("Reasons:\n    (check individual jobs above for details)", {}),
    )
    for line in (
        "        1  finetune_student: schedule.learning_rate: 1e-05 -> 2e-05",
        "        1  finetune_student: a setting: 1 -> 2",
        "        1  finetune_student: lost: } -> None",
        "        1  make_table: not made yet",
        "        1  make_table: settings have changed",
    ):
        assert line in said.splitlines()
    assert "Would remove" not in said
    assert max(map(len, said.splitlines())) <= WIDTH
