"""The audit: checks that find errors in the numbers that papers print, one check per type of error."""

from retort.audit import conditions, models, numbers, row_pairs, wording
from retort.audit.base import CheckResult, Finding, as_text, audit, checks, condition_of

__all__ = [
    "CheckResult",
    "Finding",
    "as_text",
    "audit",
    "checks",
    "condition_of",
    "conditions",
    "models",
    "numbers",
    "row_pairs",
    "wording",
]
