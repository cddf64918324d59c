"""Tests that follow the guides to additions word for word, and that check the switches that a guide lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from retort.objectives import objectives
from retort.specs import catalogue, mappings
from retort.specs.catalogue import wrong_options
from retort.specs.protocol import Schedule
from retort.specs.student import Initialisation, Stage, Student

from tests.conftest import ROOT
from tests.contracts.guides import copy_project, follow, run_python, section

OBJECTIVES, PAPERS = "workflow/retort/objectives/README.md", "workflow/papers/README.md"
TASKS, FIGURES = "workflow/tasks/README.md", "workflow/retort/figures/README.md"
MODELS = "workflow/models/README.md"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return the folder of a copy of the project."""
    return copy_project(tmp_path)


def test_adding_an_objective(copy: Path) -> None:
    done = follow(section(OBJECTIVES, "Adding an objective"), copy)
    assert done.files == [
        f"{folder}/objectives/{name}.py"
        for name in ("absolute", "mapped")
        for folder in ("workflow/retort", "tests/references")
    ]
    for command, output in done.outputs.items():
        assert command.startswith("retort") or int(re.search(r"(\d+) passed", output)[1]) > 20, output
        assert command.startswith("pytest") or "| hidden-absolute" in output


def test_adding_a_mapping(copy: Path) -> None:
    done = follow(section(OBJECTIVES, "Adding a mapping"), copy)
    assert done.files == ["workflow/retort/specs/mappings.py"]
    assert "  odd " in done.outputs["retort list mappings"]


def test_adding_a_student_a_row_and_a_table(copy: Path) -> None:
    student, row, table = (follow(section(PAPERS, f"Adding a {what}"), copy) for what in ("student", "row", "table"))
    assert student.files == ["workflow/papers/pocket/students.yaml"]
    assert row.files == ["workflow/papers/pocket/table1.yaml"]
    assert table.files == ["workflow/papers/pocket/table5.yaml"]
    assert all("no problem" in done.outputs["retort check"] for done in (student, row, table))
    assert "hidden-cosine" in student.outputs["retort show pocket-hid-cosine movies"]
    for done, name in ((row, "table1"), (table, "table5")):
        assert "student=pocket-hid-cosine" in done.outputs[f"snakemake -n -p reports/pocket/{name}.html"]


def test_adding_a_claim(copy: Path) -> None:
    done = follow(section(PAPERS, "Adding a claim"), copy)
    assert done.files == ["workflow/papers/pocket/claims.yaml"]
    assert "no problem" in done.outputs["retort check"]


def test_adding_a_task(copy: Path) -> None:
    done = follow(section(TASKS, "Adding a task"), copy)
    assert done.files == ["weather/train.csv", "weather/dev.csv", "workflow/tasks/weather.yaml"]
    assert "train: 4 rows" in done.outputs["retort check --data --all"]
    assert "dev: 2 rows" in done.outputs["retort check --data --all"]
    (tests,) = (output for command, output in done.outputs.items() if command.startswith("pytest"))
    assert int(re.search(r"(\d+) passed", tests)[1]) >= 2


def test_adding_a_task_of_the_hub(copy: Path) -> None:
    done = follow(section(TASKS, "Adding a task of the hub"), copy)
    assert done.files == ["workflow/tasks/boolq.yaml"]
    assert "no problem" in done.outputs["retort check"]
    (tests,) = (output for command, output in done.outputs.items() if command.startswith("pytest"))
    assert int(re.search(r"(\d+) passed", tests)[1]) >= 3


def test_adding_a_teacher(copy: Path) -> None:
    done = follow(section(MODELS, "Adding a teacher"), copy)
    assert done.files == [
        f"workflow/{name}.yaml"
        for name in ("sources/bert-mini", "models/bert-mini", "papers/mini/paper", "papers/mini/students")
    ]
    assert "no problem" in done.outputs["retort check"]
    assert "256" in done.outputs["retort show mini-kd movies"]
    assert "student=mini-kd" in done.outputs["snakemake -n -p --config 'papers=[mini]' -- reports/mini/table1.html"]


def test_adding_a_figure(copy: Path) -> None:
    follow(section(PAPERS, "Adding a student"), copy)
    done = follow(section(PAPERS, "Adding a figure"), copy)
    assert done.files == ["workflow/papers/pocket/figure2.yaml"]
    assert "no problem" in done.outputs["retort check"]
    planned = done.outputs["snakemake -n -p reports/pocket/figure2.svg"]
    assert "student=pocket-hid-cosine" in planned
    assert "rule plot_figure:" in planned


# draws figure 1 of the toy study as one of the guide's kind
DRAW = """
from pathlib import Path
from retort.figures.base import plot_figure
from tests.tiny.results import paths, quiet, write_results
from tests.tiny.variant import PARETO, write_study

bars = {key: value for key, value in PARETO.items() if key != "points"} | {"kind": "bars", "bars": PARETO["points"]}
config = write_study(Path("study"), figure1=bars)
write_results(config)
plot_figure(quiet(), config, "tiny", "figure1", *paths(), [], "out.csv", {"svg": "out.svg"})
"""


def test_adding_a_kind_of_figure(copy: Path) -> None:
    done = follow(section(FIGURES, "Adding a kind of figure"), copy)
    assert done.files == ["workflow/retort/figures/bars.py", "workflow/papers/pocket/figure3.yaml"]
    assert "no problem" in done.outputs["retort check"]
    assert "workflow/schemas/figure.json: written" in done.outputs["retort schemas"]
    run_python(DRAW, copy)
    assert "pearson on rating, × 100" in (copy / "out.svg").read_text()


def test_adding_a_paper(copy: Path) -> None:
    done = follow(section(PAPERS, "Adding a paper"), copy)
    files = [f"workflow/papers/init2023/{name}.yaml" for name in ("paper", "table1", "claims")]
    assert done.files == ["table4.csv", *files]
    listed = done.outputs["retort new init2023 --from table4.csv"]
    assert [line for line in listed.splitlines() if "written" in line] == [
        f"{file}: written; to choose:" for file in files[:2]
    ]
    assert "line 11: the subset, one of matched, mismatched" in listed
    assert "no problem" in done.outputs["retort check"]
    assert "| 77.9 |" in done.outputs["retort published show init2023/table1"]
    claims = (copy / "reports/init2023/claims.md").read_text()
    assert "By its own numbers: 2 borne out." in claims
    assert "On ours: 2 not run" in claims


def test_a_table_of_a_paper_that_is_here_is_read_as_it_stands(copy: Path) -> None:
    follow(section(PAPERS, "Adding a paper").partition("\n3. ")[0], copy)
    ours, papers = yaml.safe_load((copy / "workflow/papers/init2023/table1.yaml").read_text()), ROOT / "workflow/papers"
    theirs = yaml.safe_load((papers / "wang2023/table4.yaml").read_text())
    cells = [[cell.strip() for cell in line.split("|")] for line in ours["printed"].splitlines()[2:]]
    assert cells == [[cell.strip() for cell in line.split("|")] for line in theirs["printed"].splitlines()[1:]]
    assert ours["numbers"] == theirs["numbers"]


def switches() -> list[tuple[str, str]]:
    """Return (setting, objective or mapping or stage that has it) for each line of the guide's table of switches."""
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \|", (ROOT / OBJECTIVES).read_text(), flags=re.MULTILINE)
    return [(setting, owner) for setting, owners in rows for owner in re.findall(r"`([\w-]+)`", owners) or [owners]]


OWNERS = {"a student": Student, "a stage": Stage, "a schedule": Schedule, "an initialisation": Initialisation}


@pytest.mark.parametrize(("setting", "owner"), switches(), ids=str)
def test_a_listed_switch_exists_and_is_off(setting: str, owner: str) -> None:
    name, _, value = setting.partition(": ")
    if not value:  # an objective that stands in the place of another
        assert {name, owner} <= set(catalogue.objectives())
    elif owner in objectives and name != "mapping":
        entry = catalogue.objectives()[owner]
        assert str(entry.options[name]).lower() != value
        assert not wrong_options(entry, {name: yaml.safe_load(value)}, "options")
    elif owner in mappings.mappings:
        assert mappings.pairs_of(owner, 3, 6) != mappings.pairs_of({owner: {name: True}}, 3, 6)
    elif name == "mapping":
        assert value.strip("{").split(":")[0] in mappings.mappings
    else:
        assert str(OWNERS[owner].model_fields[name].default).lower() != value


def test_there_are_switches() -> None:
    assert len(switches()) >= 15
