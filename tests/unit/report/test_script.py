"""Tests of the script of the pages: sorting tables, on objects that stand in for those of a browser."""

from __future__ import annotations

import json
import shutil
import subprocess

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
const body = { rows: texts.map(rowOf), append: (...rows) => done.push(rows.map((row) => row.cells[0].textContent)) };
const table = { tBodies: [body], tHead: { rows: [{ cells: [head] }] }, classList: { toggle: () => {} } };
for (let press = 0; press < 3; press++) sortBy(table, head, 0);
console.log(JSON.stringify(done));
"""


@pytest.mark.parametrize(
    ("texts", "down"),
    [
        (["0.020", "<0.001", "–", "<0.010", "0.300"], ["0.300", "0.020", "<0.010", "<0.001", "–"]),
        (["×10.0", "×9.5", "× 2"], ["×10.0", "×9.5", "× 2"]),
        (["9.4×", "1,024", "−3.0 ± 0.1", ""], ["1,024", "9.4×", "−3.0 ± 0.1", ""]),
        (["b", "A", "7"], ["7", "A", "b"]),
    ],
)
def test_a_column_is_sorted_by_its_numbers_and_then_back(texts: list[str], down: list[str]) -> None:
    dashes = [text for text in down if text in ("–", "")]  # they come last both ways
    up = [*reversed(down[: len(down) - len(dashes)]), *dashes]
    source = f"const texts = {json.dumps(texts)};\n{BROWSER}{(TEMPLATES / 'table.js').read_text()}{SORTED}"
    assert NODE
    done = subprocess.run([NODE, "-"], input=source, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [down, up, texts]
