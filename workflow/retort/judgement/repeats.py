"""Verdicts on a run that was recorded before: the same study with the same seeds, compared seed by seed.

Whoever runs a study of ours has the seeds, the first weights and the batches of the recorded run. So the difference is
formed under each seed. Its spread is that of rounding on another machine, and not that of training.

- A cell repeats the recorded run if its score under each seed has the recorded digits.
- Else it reproduces it if its mean differs by at most the margin, and the paired t-test over the seeds shows no shift:
  p >= 0.05 after Holm's correction over all cells of the table that have such a test. With one seed, or with equal
  differences under all seeds, there is no test, and the margin decides alone.
- Else it has the verdict of any other cell (`verdicts.py`).
"""

from __future__ import annotations

from dataclasses import replace

from retort.judgement.difference import LEVEL, Comparison, holm, mean_is_zero
from retort.judgement.verdicts import MARGIN, REPEATS, REPRODUCES, TINY, is_comparable
from retort.results.tidy import Line

DIGITS, DIGIT = 5, 1e-5  # decimals of a recorded score
SAME, PAIRED = "the same digits as the recorded run", "paired with the recorded run, seed by seed"


def differences(line: Line) -> list[float]:
    """Return ours minus recorded under each seed; empty if the two runs do not have the same seeds."""
    ours, recorded = (dict(line.by_seed), dict(line.published_by_seed))
    if not recorded or ours.keys() != recorded.keys() or not is_comparable(line):
        return []
    return [round(ours[seed], DIGITS) - score for seed, score in recorded.items()]


def judge_repeats(lines: list[Line]) -> list[Line]:
    """Give the lines of a table that repeat or reproduce a recorded run this verdict; the others keep theirs."""
    apart = list(map(differences, lines))
    tests = [mean_is_zero([values]) for values in apart]
    shifts = holm([test.p for test in tests])

    def decide(line: Line, values: list[float], test: Comparison, p: float | None) -> Line:
        if values and max(map(abs, values)) < DIGIT / 2:
            zero = (line.mean or 0.0) - (line.published or 0.0)
            return replace(line, verdict=REPEATS, low=zero, high=zero, assumes=SAME, runs_needed="")
        if test.mean is None or abs(test.mean) > MARGIN + TINY or (p is not None and p < LEVEL):
            return line
        low, high = map(float, test.difference.interval()) if test.difference else (None, None)
        return replace(line, verdict=REPRODUCES, low=low, high=high, assumes=PAIRED, runs_needed="")

    return [decide(*one) for one in zip(lines, apart, tests, shifts, strict=True)]


def rule(lines: list[Line]) -> list[str]:
    """Return a remark that explains these verdicts; empty if no cell of the table has one."""
    if not any(line.verdict in (REPEATS, REPRODUCES) for line in lines):
        return []
    return [
        "A cell 'repeats' the recorded run when each seed has its digits. It 'reproduces' it when, under the same "
        f"seeds, its mean is within {MARGIN:g} point of the recorded one, and a paired t-test "
        "over the seeds shows no shift (p < 0.05 after Holm's correction over the table); in brackets then: the 95 % "
        "interval of the paired difference."
    ]
