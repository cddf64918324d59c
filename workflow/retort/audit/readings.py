"""Check of claims in their other readings: a sentence that can be read in several ways may hold in one of them alone.

`claims.yaml` judges a claim in one reading and declares others. A finding here is no mistake of the paper's: it says
what a reader must not take the sentence for.
"""

from __future__ import annotations

from retort.audit.base import Finding, Looked, Printed, checks
from retort.audit.wording import judged, sides_of
from retort.specs.paper import Statement
from retort.tables.layout import label_of


@checks.register("readings")
def readings(printed: Printed) -> Looked:
    """Check that a claim which can be read in several ways holds in each of its readings."""
    for paper, statements in printed.statements.items():
        sides = sides_of(printed, paper)
        for claim in statements:
            as_claimed = judged(claim, sides)
            for reading in claim.other_readings.values():
                statement = claim.read_as(reading)
                verdict = judged(statement, sides)
                if verdict is None:  # nothing is printed for this reading
                    continue
                why = f"{'holds' if as_claimed and as_claimed.holds else 'does not hold'} as judged among the claims"
                finding = _finding(paper, statement, verdict.numbers, why)
                yield 1, None if verdict.holds else finding


def _finding(paper: str, statement: Statement, numbers: str, why: str) -> Finding:
    where = f"{statement.where}, against {', '.join(map(label_of, statement.tables))}"
    reading = f"; {statement.reading}" if statement.reading else ""
    return Finding(paper, where, statement.says.removesuffix("."), numbers, f"{why}{reading}")
