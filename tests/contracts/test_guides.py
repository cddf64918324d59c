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
from tests.contracts.guides import Followed, copy_project, follow, run, run_python, run_tests, section
from tests.tiny.make import make_encoder, sentences

OBJECTIVES, PAPERS = "workflow/retort/objectives/README.md", "workflow/papers/README.md"
EXHIBITS, OWN = "workflow/papers/tables-and-claims.md", "workflow/papers/your-own.md"
TASKS, FIGURES = "workflow/tasks/README.md", "workflow/retort/tables/figures/README.md"
MODELS, SWITCHES = "workflow/models/README.md", "workflow/retort/objectives/switches.md"


# what is added, in this order: the rows, table and figure of a paper show the student
ADDED = {
    OBJECTIVES: ["an objective", "a mapping"],
    PAPERS: ["a student", "a row"],
    EXHIBITS: ["a table", "a claim", "a figure", "what others measured"],
    OWN: ["a paper"],
    TASKS: ["a task", "a task of the hub", "a metric"],
    FIGURES: ["a kind of figure"],
    MODELS: ["a teacher"],
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a copy of the project, to which all is added."""
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def added(copy: Path) -> dict[str, Followed]:
    """Return what is added -> what following its guide did."""
    return {what: follow(section(guide, f"Adding {what}"), copy) for guide, all in ADDED.items() for what in all}


def later(added: dict[str, Followed], tool: str) -> set[str]:
    """Return the commands of a tool that look at all that was added."""
    return {command for done in added.values() for command in done.later if command.startswith(tool)}


def test_what_is_added_has_no_problem(copy: Path, added: dict[str, Followed]) -> None:
    asking = [what for what, done in added.items() if any(command.startswith("retort") for command in done.later)]
    assert asking == [what for what in added if what not in ("an objective", "a mapping")]
    assert later(added, "retort") == {"retort check", "retort check --data --all"}
    said = run("retort check --data --all", copy)
    assert "no problem" in said
    assert "train: 4 rows: bad 3, good 1" in said
    assert "dev: 1 rows" in said
    assert "first rows: 'Hail, again' bad" in said


def test_what_is_added_is_tested(copy: Path, added: dict[str, Followed]) -> None:
    passed = run_tests(later(added, "pytest"), copy)
    least = {"hidden-absolute": 40, "hidden-absolute-mapped": 20, "hidden-averaged": 20,
             "odd": 1, "weather": 1, "boolq": 3}  # fmt: skip
    for name, count in least.items():
        assert sum(bool(re.search(rf"\b{name}\b", test)) for test in passed) >= count, name


def test_adding_to_the_package(copy: Path, added: dict[str, Followed]) -> None:
    assert added["an objective"].files == [
        f"{folder}/objectives/{name}.py"
        for name in ("absolute", "mapped", "averaged")
        for folder in ("workflow/retort", "tests/references")
    ]
    assert added["a mapping"].files == ["workflow/retort/specs/mappings.py"]
    assert "  odd " in added["a mapping"].outputs["retort list mappings"]
    kind = added["a kind of figure"]
    assert kind.files == ["workflow/retort/tables/figures/bars.py", "workflow/papers/pocket/figure3.yaml"]
    assert "workflow/schemas/figure.json: written" in kind.outputs["python -m retort.study.schemas"]
    run_python(DRAW, copy)
    assert "pearson on rating, × 100" in (copy / "out.svg").read_text()


# draws figure 1 of the toy study as one of the guide's kind
DRAW = """
from pathlib import Path
from retort.tables.figures.base import plot_figure
from tests.tiny.results import paths, quiet, write_results
from tests.tiny.variant import PARETO, write_study

bars = {key: value for key, value in PARETO.items() if key != "points"} | {"kind": "bars", "bars": PARETO["points"]}
config = write_study(Path("study"), figure1=bars)
write_results(config)
plot_figure(quiet(), config, "tiny", "figure1", *paths(), [], "out.csv", {"svg": "out.svg"})
"""


def test_adding_to_a_paper(added: dict[str, Followed]) -> None:
    for what, name in ("student", "students"), ("row", "table1"), ("table", "table7"), ("claim", "claims"):
        assert added[f"a {what}"].files == [f"workflow/papers/pocket/{name}.yaml"]
    assert added["a figure"].files == ["workflow/papers/pocket/figure4.yaml"]
    assert "hidden-cosine" in added["a student"].outputs["retort show pocket-hid-cosine movies"]
    for what, page in (("a row", "table1.html"), ("a table", "table7.html"), ("a figure", "figure4.svg")):
        assert "student=pocket-hid-cosine" in added[what].outputs[f"snakemake -n -p reports/pocket/{page}"]
    assert "rule plot_figure:" in added["a figure"].outputs["snakemake -n -p reports/pocket/figure4.svg"]


def test_adding_tasks_and_a_teacher(added: dict[str, Followed]) -> None:
    assert added["a task"].files == ["weather/reports.csv", "workflow/tasks/weather.yaml"]
    assert added["a task of the hub"].files == ["workflow/tasks/boolq.yaml"]
    teacher = added["a teacher"]
    assert teacher.files == [
        f"workflow/{name}.yaml"
        for name in ("sources/bert-mini", "models/bert-mini", "papers/mini/paper", "papers/mini/students")
    ]
    assert "256" in teacher.outputs["retort show mini-kd movies"]
    assert "student=mini-kd" in teacher.outputs["snakemake -n -p --config 'papers=[mini]' -- reports/mini/table1.html"]


def test_adding_a_paper(copy: Path, added: dict[str, Followed]) -> None:
    done = added["a paper"]
    files = [f"workflow/papers/init2023/{name}.yaml" for name in ("paper", "table1", "claims")]
    assert done.files == ["table4.csv", *files]
    listed = done.outputs["retort new init2023 --from table4.csv"]
    assert [line for line in listed.splitlines() if "written" in line] == [
        f"{file}: written; to choose:" for file in files[:2]
    ]
    assert "line 11: the subset, one of matched, mismatched" in listed
    assert "| 77.9 |" in done.outputs["retort reported show init2023/table1"]
    claims = (copy / "reports/init2023/claims.md").read_text()
    assert "Reported: 2 supported." in claims  # nothing was run: no other side
    # a table of a paper that is here is read as it stands
    ours, theirs = (yaml.safe_load((copy / "workflow/papers" / name).read_text())
                    for name in ("init2023/table1.yaml", "wang2023/table4.yaml"))  # fmt: skip
    cells = [[cell.strip() for cell in line.split("|")] for line in ours["reported"].splitlines()[2:]]
    assert cells == [[cell.strip() for cell in line.split("|")] for line in theirs["reported"].splitlines()[1:]]
    assert ours["numbers"] == theirs["numbers"]


def test_first_steps(copy: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    make_encoder(mine / "teacher")
    rows = [line.split("\t")[1:] for line in sentences()]
    (mine / "data").mkdir()
    (mine / "data/reviews.csv").write_text(
        "\n".join(["text,label", *(f"{text},{'good' if int(rating) > 0 else 'bad'}" for rating, text in rows)])
    )
    guide = (ROOT / "workflow/papers/first-steps.md").read_text()
    assert len(guide.split()) <= 700
    for part in ("tasks", "models", "objectives"):
        (mine / part).mkdir()
    done = follow(guide.replace("~/mine", str(mine)), copy)
    assert "no problem" in run(done.later[0], copy)
    table = (copy / "reports/first/table1.html").read_text()
    assert "My objective" in table
    assert len(list(copy.glob("results/scores/first-absolute/opinions/*[0-9].json"))) >= 1


def test_a_guide_that_was_followed_already_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("a = 1\n")
    text = "Write `a.txt`:\n\n```text\none\n```\n\nAdd to the end of `b.py`:\n\n```python\nx = 1\n```\n"
    for _ in range(2):
        assert follow(text, tmp_path).files == ["a.txt", "b.py"]
        assert (tmp_path / "b.py").read_text() == "a = 1\n\n\nx = 1\n"


def switches() -> list[tuple[str, str]]:
    """Return (setting, objective or mapping or stage that has it) for each line of the guide's table of switches."""
    table = (ROOT / SWITCHES).read_text().partition("| switch | on |")[2]
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \|", table, flags=re.MULTILINE)
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
