"""Judge each claim of a paper on the published numbers and on ours, and print the numbers that decide."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retort.atomic import write_text
from retort.engine.job import Job
from retort.formatters import condition, number
from retort.judgement.certainty import differences_by_seed, side_of_recording
from retort.judgement.comparisons import Pair, Reached, Verdict
from retort.judgement.difference import Part, welch
from retort.judgement.judge import SO_FAR, Kind, Side, coverage_of, decide, ours, published, recomputed
from retort.results.environments import mixed_warning
from retort.results.tidy import Line, for_claims, read
from retort.specs import catalogue
from retort.specs.config import read_config
from retort.specs.paper import Statement
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables.layout import label_of
from retort.tables.recordings import OUTDATED, is_outdated, recordings_of
from retort.tables.render import html_document, markdown_escape

AT_THIS_SCALE = "at this scale"
WITHIN = "within the spread"
ON_DEV = "on dev"
LISTED = 6  # up to so many columns are listed by name; more are only counted
RULE = (
    "'The cells' are those of the rows that a claim is about, 'the others' those that they are compared with. A claim "
    "without a number holds when the means are as it says, by however little; this is no test of significance. A claim "
    "with a number holds on the published numbers when they meet it to its last digit, or within the distance that the "
    "claim allows; on ours when they have its sign and are at least as large, less that distance, since another run "
    "need not repeat a number. Numbers of parameters must meet it on both sides. "
    f"'{WITHIN.capitalize()}': the 95 % interval of the difference of the two deciding cells contains zero (Welch, by "
    "their own standard deviations and runs, published or ours; seed by seed if both have the same seeds), so that "
    "other seeds may turn the verdict. "
    "'Holds so far', 'does not hold so far': by the means of the cells that have a number; the others may turn it. "
    f"'{ON_DEV.capitalize()}': our scores on dev stand in for those that only a test server can compute. If the mean "
    "of a row, computed again from its printed columns, turns a verdict on its printed average, both are shown. "
    "Hours of ours are computed from settings, not measured. 'Recorded': a run of ours at that scale, which came with "
    "the study; it is no part of this run."
)


@dataclass(frozen=True)
class Judgement:
    """The judgement of a claim on one side (published, ours, recorded): verdict, remark, deciding numbers as text."""

    verdict: Kind
    remark: str = ""
    numbers: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim with its judgements: on the published numbers, on ours, and on recorded ones.

    Args:
        recorded: scale -> the judgement on our recorded run at that scale, if it has a number of the claim. If the
            scale has other settings now, the key says so after a comma.
        otherwise: another reading of the claim -> its judgement on the published numbers.
    """

    name: str
    claim: Statement
    published: Judgement
    ours: Judgement
    recorded: dict[str, Judgement]
    otherwise: dict[str, Judgement]

    @property
    def test(self) -> str:
        """The condition that the comparison checks, with the columns that it reads."""
        if self.claim.undecided:
            return "No comparison"
        columns = list(dict.fromkeys(column for group in self.claim.cells for column in group.columns))
        summary = condition(catalogue.comparisons()[self.claim.compare].summary).removesuffix(".")
        columns_named = ", ".join(columns) if len(columns) <= LISTED else f"{len(columns)} columns"
        return f"Checked on {columns_named}: {summary[0].lower()}{summary[1:]}"


def _remark(pair: Pair | None) -> str:
    """Return WITHIN if the interval of the difference of the two deciding cells holds zero, else an empty string.

    Only the deviations of these two cells count, so that a remark on published numbers never rests on our runs. The
    remark is also empty if the cells are in different columns, or if one has no deviation over two runs or more.
    """
    if not pair or pair[0].column != pair[1].column:
        return ""
    parts = [Part(cell.std**2 / cell.n, cell.n - 1) for cell in pair if cell.std is not None and cell.n > 1]
    if apart := differences_by_seed(*pair):
        parts = [Part(statistics.variance(apart) / len(apart), len(apart) - 1)]
    elif len(parts) < len(pair):
        return ""
    if not any(part.variance for part in parts):
        return ""
    low, high = welch(pair[0].number.value - pair[1].number.value, parts).interval()
    return WITHIN if low <= 0 <= high else ""


def judge_one(statement: Statement, side: Side) -> Judgement:
    """Judge a claim on one side; if its cells cannot decide it, the judgement gives the reason in place of numbers."""
    verdict = decide(statement, side)
    if isinstance(verdict, str):
        at_scale = side.rule is Reached and not statement.undecided
        return Judgement(Kind.WITHOUT, AT_THIS_SCALE if at_scale else "", verdict)
    open_, on_dev = verdict.holds is None, not statement.test_alone and any(key in side.dev for key in statement.keys)
    found = SO_FAR[verdict.so_far] if open_ else Kind.HOLDS if verdict.holds else Kind.FAILS
    coverage = [str(coverage_of(statement, side, verdict.diverged))] if open_ else []
    remarks = [*coverage, _remark(verdict.pair), ON_DEV if on_dev else ""]
    return Judgement(found, ", ".join(filter(None, remarks)), _numbers(statement, verdict))


def _numbers(statement: Statement, verdict: Verdict) -> str:
    """Return the deciding cells as text, with the computed result, the number in the text, and the missing cells."""
    result = f": {verdict.result}" if verdict.result else ""
    if verdict.pair and not result:
        difference = number(verdict.pair[0].number.value - verdict.pair[1].number.value, 1)
        several = "; " in verdict.numbers
        result = f"; at worst {difference}" if several else f": difference {difference}"
    stated = f"; the text says {statement.number}" if statement.number else ""
    missing = f"; {verdict.missing}" if verdict.missing else ""
    return f"{verdict.numbers}{result}{stated}{missing}"


def judge_published(statement: Statement, side: Side, with_recomputed: Side) -> Judgement:
    """Judge a claim on the published numbers; if recomputed averages turn the verdict, show both verdicts.

    Args:
        statement: the claim.
        side: the numbers as printed.
        with_recomputed: the same, with each average computed from the numbers of its row.
    """
    printed, again = judge_one(statement, side), judge_one(statement, with_recomputed)
    if again.verdict == printed.verdict:
        return printed
    remark = f"{again.verdict} on averages of the printed columns"
    return replace(
        printed,
        remark=", ".join(filter(None, [printed.remark, remark])),
        numbers=f"{printed.numbers}. Averages of the printed columns: {again.numbers}",
    )


def judge_all(study: Study, paper: str, tables: Mapping[str, list[Line]]) -> list[Judged]:
    """Judge every claim of a paper on the tidy lines of its tables."""
    exhibits = {name: study.exhibits[paper, name] for name in tables}
    printed, own = published(exhibits), ours(exhibits, tables)
    with_recomputed = recomputed(printed, exhibits)
    recorded = {
        f"{scale}, {OUTDATED}" if is_outdated(study, paper, scale) else scale: side_of_recording(study, paper, one)
        for scale, one in recordings_of(study, paper).items()
    }

    return [
        Judged(
            name,
            claim,
            judge_published(claim, printed, with_recomputed),
            judge_one(claim, own),
            {scale: judge_one(claim, side) for scale, side in recorded.items() if coverage_of(claim, side).known},
            {
                reading.says: judge_published(claim.read_as(reading), printed, with_recomputed)
                for reading in claim.other_readings.values()
            },
        )
        for name, claim in study.claims[paper].items()
    ]


def _tally(judgements: list[Judgement]) -> str:
    verdicts = [judgement.verdict for judgement in judgements]
    return ", ".join(f"{verdict} {verdicts.count(verdict)}" for verdict in Kind if verdict in verdicts)


def counts(claims: list[Judged]) -> str:
    """Return sentences with the number of claims and how many of them hold on each side, by the means."""
    sides = {
        "the published numbers": [item.published for item in claims],
        f"ours, {AT_THIS_SCALE}": [item.ours for item in claims],
    }
    without = Judgement(Kind.WITHOUT)
    for scale in dict.fromkeys(scale for item in claims for scale in item.recorded):
        sides[f"the recorded ones, scale {scale}"] = [item.recorded.get(scale, without) for item in claims]
    return " ".join([f"Claims: {len(claims)}.", *(f"On {side}: {_tally(found)}." for side, found in sides.items())])


def _markdown_of(side: Judgement) -> str:
    remark = f", {side.remark}" if side.remark else ""
    return f"**{side.verdict}**{remark}<br>{markdown_escape(side.numbers)}"


def markdown(title: str, claims: list[Judged], rule: str = RULE) -> str:
    """Return the judged claims as a Markdown table, with the rule of judging below."""
    lines = [f"## Claims. {markdown_escape(title)}", "", counts(claims), ""]
    lines += ["| claim | published | ours |", "| --- | --- | --- |"]
    for item in claims:
        says, tables = item.claim, ", ".join(map(label_of, item.claim.tables))
        where = f"{'; '.join(filter(None, [says.where, tables]))}. {item.test}"
        notes = [f"{name}: {text}." for name, text in (("Reading", says.reading), ("Why", says.why)) if text]
        claim = "<br>".join([markdown_escape(says.says), f"*{markdown_escape(where)}*", *map(markdown_escape, notes)])
        recorded = [f"*recorded, scale {scale}:* {_markdown_of(one)}" for scale, one in item.recorded.items()]
        ours = "<br>".join([_markdown_of(item.ours), *recorded])
        read_as = [f"*read as: {markdown_escape(text)}:* {_markdown_of(one)}" for text, one in item.otherwise.items()]
        published = "<br>".join([_markdown_of(item.published), *read_as])
        lines.append(f"| {claim} | {published} | {ours} |")
    return "\n".join([*lines, "", rule, ""])


def print_claims(study: Study, paper: str, lines: Mapping[str, list[Line]], renders: Mapping[str, str]) -> str:
    """Judge the claims of a paper, write them as Markdown or HTML, and return a sentence with their counts.

    Args:
        study: the study.
        paper: the paper.
        lines: the tidy lines of its tables.
        renders: format ('md', 'html') -> path.
    """
    claims, title = judge_all(study, paper, for_claims(study, lines)), study.papers[paper].title
    rule = f"{mixed_warning(study, paper, lines)} {RULE}".lstrip()
    values = {"paper": paper, "title": title, "claims": claims, "counts": counts(claims), "rule": rule}
    for ending, path in renders.items():
        write_text(path, markdown(title, claims, rule) if ending == "md" else html_document("claims.html", **values))
    return counts(claims)


def check_claims(
    job: Job, config: dict[str, Any], paper: str, tables: Iterable[str], renders: Mapping[str, str]
) -> None:
    """Judge the claims of a paper and write them as Markdown and HTML."""
    study = open_study(read_config(config))
    job.say(print_claims(study, paper, {Path(path).stem: read(path) for path in tables}, renders))
