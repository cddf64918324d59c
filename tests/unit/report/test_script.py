"""Tests of the script of the pages: sorting and copying tables, on objects that stand in for those of a browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest
from retort.tables.render import script

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node, which runs the script of the pages, is not on PATH")
BROWSER = """
const done = [];
const element = (tag) => ({
  tag, role: null, parts: [], addEventListener: () => {},
  append(...parts) { this.parts.push(...parts); },
  setAttribute(name, value) { this[name] = value; },
});
const copies = { querySelectorAll: () => [{ dataset: { format: "CSV" } }], before: (bar) => done.push(bar) };
const document = {
  querySelectorAll: (selector) => (selector === "details.copies" ? [copies] : []),
  createElement: element,
  execCommand: () => (done.push("command"), allowed),
};
const location = { hash: "" };
const addEventListener = () => {};
const setTimeout = () => {};
const navigator = { clipboard: { writeText: async () => { if (!writes) throw new Error("not allowed"); } } };
"""
SORTED = """
done.length = 0;
const rowOf = (text) => ({ cells: [{ querySelector: () => null, textContent: text }] });
const head = { ariaSort: null };
const body = { rows: texts.map(rowOf), append: (...rows) => done.push(rows.map((row) => row.cells[0].textContent)) };
const table = { tBodies: [body], tHead: { rows: [{ cells: [head] }] }, classList: { toggle: () => {} } };
for (let press = 0; press < 3; press++) sortBy(table, head, 0);
console.log(JSON.stringify(done));
"""


def run(use: str, **constants: Any) -> Any:
    """Run the script of the pages, and then lines that use it; return what they print, which is JSON."""
    given = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in constants.items())
    source = f"{given}{BROWSER}{script()}{use}"
    assert NODE
    return json.loads(subprocess.run([NODE, "-"], input=source, capture_output=True, text=True, check=True).stdout)


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
    assert run(SORTED, texts=texts, writes=True, allowed=True) == [down, up, texts]
