"""Tests of the block of reported cells: what it holds, and one clear line where it does not fit its table."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from retort.specs.reported import header_lines
from retort.tables.kinds.verbatim import SettingsTable

BLOCK = """\
Method / Layers   | GLUE            | XNLI
                  | Short   | 4     | all
KD / 6            | 84.1    | -     | 56.2±0.3
KD / 4: + warm up | 5e-4    | a, b  |
KD / 6: + warm up | {16,32} | 1,024 | 99%
"""
COLUMNS = [
    {"label": "Short", "heading": "GLUE"},
    {"label": "4", "heading": "GLUE"},
    {"label": "all", "heading": "XNLI"},
]
ROWS = [
    {"label": "KD / 6"},
    {"label": "+ warm up", "group": "KD / 4"},
    {"label": "+ warm up", "group": "KD / 6"},
]


def table(block: str = BLOCK, stub: tuple[str, ...] = ("Method", "Layers"), numbers: int = 5) -> SettingsTable:
    """Return a table of settings with this block of reported cells."""
    return SettingsTable.model_validate(
        {"kind": "settings", "title": "T", "question": "Q?", "stub": stub, "columns": COLUMNS, "rows": ROWS,
         "numbers": numbers, "reported": block}
    )  # fmt: skip


def test_the_cells_of_a_block() -> None:
    found = table()
    assert found.texts == [["84.1", "-", "56.2±0.3"], ["5e-4", "a, b", ""], ["{16,32}", "1,024", "99%"]]
    cells = {(cell.row, cell.column): cell.text for cell in found.paper_cells()}
    assert cells["KD / 4: + warm up", "GLUE: 4"] == "a, b"
    assert len(cells) == 9


def test_a_block_need_not_be_aligned_and_may_be_missing() -> None:
    crowded = "\n".join("|".join(field.strip() for field in line.split("|")) for line in BLOCK.splitlines())
    assert table(f"\n{crowded}\n\n").texts == table().texts
    assert table(crowded.replace("|", "\t|\t")).texts == table().texts
    without = table("", numbers=0)
    assert (without.texts, without.paper_cells()) == ([[], [], []], [])


def test_one_line_of_headings_where_none_spans() -> None:
    assert header_lines([], [("", "Acc"), ("", "F1")]) == [["-", "Acc", "F1"]]
    assert header_lines(["Model"], [("", "Acc"), ("MNLI", "m"), ("MNLI", "mm")]) == [
        ["Model", "", "MNLI"],
        ["", "Acc", "m", "mm"],
    ]


HEADER = (
    "reported: the header is not that of 'stub' and 'columns'; "
    "write `Method / Layers | GLUE | XNLI` and below it ` | Short | 4 | all`"
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Method / Layers", "Model", HEADER),
        ("| XNLI", "", HEADER),
        ("| Short ", "| Shrt ", HEADER),
        ("| all", "| all | new", HEADER),
        ("KD / 4: +", "KD / 4 +", "reported: row 2 is 'KD / 4 + warm up'; 'rows' says 'KD / 4: + warm up'"),
        ("| 99%\n", "| 99%\nKD | 1 | 2 | 3\n", "reported: row 4 is 'KD'; 'rows' says nothing"),
        (
            "KD / 6: + warm up | {16,32} | 1,024 | 99%",
            "",
            "reported: row 3 is missing; 'rows' says 'KD / 6: + warm up'",
        ),
        ("| 1,024 ", "", "reported: row 'KD / 6: + warm up' has 2 cells for 3 columns"),
        (
            "84.1 ",
            "none ",
            "the rows hold 4 numbers, and 'numbers' says 5; not read as numbers: "
            "'none' (row 'KD / 6', column 'GLUE: Short'), 'a, b' (row 'KD / 4: + warm up', column 'GLUE: 4'), "
            "'{16,32}' (row 'KD / 6: + warm up', column 'GLUE: Short')",
        ),
    ],
)
def test_a_mistake_gets_one_clear_line(old: str, new: str, message: str) -> None:
    assert old in BLOCK
    with pytest.raises(ValidationError) as raised:
        table(BLOCK.replace(old, new, 1))
    assert [error["msg"] for error in raised.value.errors()] == [f"Value error, {message}"]
