"""Claims: judged twice, with the numbers and the spread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.specs.table import Claim
from retort.tables.claims import check_claims, judge

from tests.unit.small_study import line, made, quiet


def claim(margin: float = 0.0) -> Claim:
    """a and b beat c."""
    return Claim(claim="x", where="y", table="table1", column="c", better=["a", "b"], worse=["c"], margin=margin)


@pytest.mark.parametrize(
    ("c", "margin", "verdict", "remark"),
    [(60.0, 0.0, "holds", ""), (60.0, 11.0, "does not hold", ""), (71.0, 0.0, "does not hold", "within the spread"),
     (70.0, 0.0, "does not hold", "within the spread"), (69.0, 0.0, "holds", "within the spread")],
)  # fmt: skip
def test_the_weakest_better_row_decides(c: float, margin: float, verdict: str, remark: str):
    lines = [line(75.0, student="a"), line(70.0, student="b", row="B"), line(c, student="c", row="C")]
    found = judge(claim(margin), lines, 1, published=False)
    assert (found.verdict, found.remark) == (verdict, remark)
    assert found.numbers.startswith(f"70.0 ± 1.0 for B against {c:.1f} ± 1.0 for C: difference ")


def test_a_claim_without_numbers_is_open():
    lines = [line(75.0, 7.0, student="a"), line(None, 7.0, student="b", row="B"), line(1.0, 1.0, student="c")]
    assert judge(claim(), lines, 1, published=False).verdict == "cannot be decided"
    assert judge(claim(), lines, 1, published=False).numbers == "no value for B"
    assert judge(claim(), lines, 1, published=True).verdict == "holds"


def test_check_claims(config: dict[str, Any]):
    made(config)
    Path("table1.csv").write_bytes(Path("results/tables/mini/table1.csv").read_bytes())
    check_claims(quiet(), config, "mini", ["table1.csv"], {"md": "claims.md", "html": "claims.html"})
    assert "A beats B & \\<co\\>." in Path("claims.md").read_text()
    page = Path("claims.html").read_text()
    assert "A beats B &amp; &lt;co&gt;." in page
    assert "difference 10.0" in page  # published: 70 against 60
    assert "difference 2.0" in page  # ours: 72 against 70


# --- markup
