"""Make one table: collect its cells, write them as a tidy CSV, read that back, and print it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from retort.atomic import write_text
from retort.engine.job import Job
from retort.results.collect import read_profiles, read_scores
from retort.results.environments import mixed_warning
from retort.results.tidy import HAS_VALUE, read, withhold_verdicts, write
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.tables.base import Inputs, table_of
from retort.tables.layout import counts_of, published_alone
from retort.tables.recordings import remark_on_recording, with_recorded
from retort.tables.render import formats
from retort.tables.runs import origins, with_origins


def make_table(
    job: Job,
    config: dict[str, Any],
    paper: str,
    table: str,
    scores: Iterable[str],
    profiles: Iterable[str],
    csv: str,
    renders: Mapping[str, str],
) -> None:
    """Write the tidy CSV of a table and each requested rendering of it.

    Raises:
        RetortError: a score or profile was made with other settings than the study's.
    """
    study = open_study(read_config(config))
    spec = table_of(study, paper, table)
    inputs = Inputs(study, paper, table, read_scores(study, scores), read_profiles(study, profiles))
    write(csv, with_recorded(study, withhold_verdicts(study, paper, spec.collect(inputs))))
    lines = read(csv)
    sheet = published_alone(spec.lay_out(lines), lines)
    sheet = with_origins(sheet, origins(spec, inputs.scores, inputs.profiles))
    mixed = mixed_warning(study, paper, study.exhibits[paper, table].compares() or [table])
    sheet = replace(sheet, remarks=[*filter(None, [mixed]), *sheet.remarks, *remark_on_recording(study, paper, table)])
    for ending, path in renders.items():
        write_text(path, formats[ending](sheet))
    verdicts = counts_of(spec.verdicts(lines).values())
    without = sum(line.status not in HAS_VALUE for line in lines)
    counts = [f"{len(lines)} cells"]
    counts += [f"{without} without a value"] if without else []
    counts += [f"{count} {verdict}" for verdict, count in verdicts.items() if count]
    job.say(", ".join(counts))
