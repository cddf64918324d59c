"""Tests of the script of the pages: sorting and filtering tables, on objects that stand in for those of a browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest
from retort.tables.render import TEMPLATES

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node, which runs the script of the pages, is not on PATH")
BROWSER = """
const document = { querySelectorAll: () => [] };
const location = { hash: "" };
const addEventListener = () => {};
"""
SORTED = """
const done = [];
const rowOf = (text) => ({ cells: [{ querySelector: () => null, textContent: text }] });
const head = { ariaSort: null };
const append = (...rows) => done.push([head.ariaSort, rows.map((row) => row.cells[0].textContent)]);
const body = { rows: texts.map(rowOf), append };
const table = { tBodies: [body], tHead: { rows: [{ cells: [head] }] }, classList: { toggle: () => {} } };
for (let press = 0; press < 3; press++) sortBy(table, head, 0);
console.log(JSON.stringify(done));
"""


COUNTED = """
globalThis.CSS = { escape: (text) => text };
const rowOf = (counts) => ({
  counts, hides: false,
  querySelector: (selector) => counts.find((count) => selector === `[data-count="${count}"]`),
  classList: { toggle: function (name, on) { row(this).hides = on; } },
});
const rows = [rowOf(["r-supported", "s-tied"]), rowOf(["r-tied", "s-tied"])];
const row = (list) => rows.find((one) => one.classList === list);
const choice = {};
const claims = { querySelectorAll: () => rows, querySelector: () => choice };
const place = (id, counts) => ({ id, closest: () => claims, matches: () => counts });
const shown = [["s-tied", true], ["r-supported", true], ["claims", false]].map(([id, counts]) => {
  showCounted(place(id, counts));
  return [choice.value, ...rows.map((one) => !one.hides)];
});
console.log(JSON.stringify(shown));
"""


def run(source: str) -> Any:
    """Run the script of the pages with more after it, and return what this prints."""
    assert NODE
    whole = f"{BROWSER}{(TEMPLATES / 'table.js').read_text()}{source}"
    return json.loads(subprocess.run([NODE, "-"], input=whole, capture_output=True, text=True, check=True).stdout)


def test_a_count_shows_its_claims_alone_and_their_table_all_of_them() -> None:
    assert run(COUNTED) == [["s-tied", True, True], ["r-supported", True, False], ["", True, True]]


@pytest.mark.parametrize(
    ("texts", "down"),
    [
        (["0.020", "<0.001", "–", "<0.010", "0.300"], ["0.300", "0.020", "<0.010", "<0.001", "–"]),
        (["×10.0", "×9.5", "× 2"], ["×10.0", "×9.5", "× 2"]),
        (["9.4×", "1,024", "−3.0 ± 0.1", ""], ["1,024", "9.4×", "−3.0 ± 0.1", ""]),
        (["61.2b", "–a", "70.0", "–"], ["70.0", "61.2b", "–a", "–"]),  # a letter leads to a note
        (["b", "A", "7"], ["7", "A", "b"]),
        (["b", "–", "A"], ["A", "b", "–"]),
    ],
)
def test_a_column_is_sorted_by_its_numbers_and_then_back(texts: list[str], down: list[str]) -> None:
    dashes = [text for text in down if text in ("–a", "–", "")]  # they come last both ways
    up = [*reversed(down[: len(down) - len(dashes)]), *dashes]
    names = ["ascending", "descending"] if texts == ["b", "–", "A"] else ["descending", "ascending"]
    assert run(f"const texts = {json.dumps(texts)};\n{SORTED}") == [[names[0], down], [names[1], up], [None, texts]]
