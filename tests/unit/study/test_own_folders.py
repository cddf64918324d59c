"""Tests of a study in several folders, shipped ones and one's own: they are read together, and clashes are told."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from retort import own_code, provenance
from retort.cli import main
from retort.errors import StudyError
from retort.objectives import objectives
from retort.registry import Registry
from retort.run.run_folder import begin, files_of
from retort.specs.config import read_config
from retort.specs.exhibit import figure_kinds
from retort.specs.mappings import mappings, pairs_of
from retort.specs.reported import metric_limits
from retort.study.load import open_whole, read_study
from retort.tasks import task_types
from retort.tasks.metrics import metrics

from tests.tiny.edit import write
from tests.tiny.make import STUDY
from tests.tiny.variant import MOOD, STUDENT

OBJECTIVE = """from typing import Literal
from retort.objectives.base import objectives
from retort.objectives.hidden import linear_map

@objectives.register("{name}")
class Own:
    level = "output"
    activations = ("logits",)

    def __init__(self, shapes, *, how: Literal["a", "b"] = "a"): ...
"""
MAPPING = """from retort.specs.reported import metric_limits
from retort.specs.mappings import mappings

@mappings.register("own-crossed")
def crossed(student_layers, teacher_layers):
    return [(student_layers, 1)]
"""
METRIC = """from retort.tasks import task_types
from retort.tasks.metrics import metrics

@metrics.register("own-constant", of="classification")
def constant(predicted, true):
    return 0.5
"""
FIGURE = """from typing import Literal
from retort.specs.exhibit import figure_kind
from retort.tables.figures.layers import LayersFigure

@figure_kind
class Own(LayersFigure):
    kind: Literal["{kind}"]
"""
TERMS = [{"objective": "own-objective", "options": {"how": "b"}}, {"objective": "hidden-cls", "mapping": "own-crossed"}]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder of one's own, with a paper, a task and a Python file of each sort; forget what these register."""
    registries: list[Registry[Any]] = [objectives, mappings, metrics, figure_kinds]
    before = [{*registry} for registry in registries]
    folder = tmp_path / "mine"
    texts = {"objectives": OBJECTIVE.format(name="own-objective"), "mappings": MAPPING, "metrics": METRIC,
             "figures": FIGURE.format(kind="own-layers")}  # fmt: skip
    for kind, text in texts.items():
        (folder / kind).mkdir(parents=True)
        (folder / kind / "own.py").write_text(text)
    write(folder, "tasks/humour.yaml", {**MOOD, "metrics": ["own-constant"]})
    write(folder, "papers/own/paper.yaml", {"title": "T", "reference": "R"})
    write(folder, "papers/own/students.yaml", {"kd": {**STUDENT, "stages": [{"data": "task", "terms": TERMS}]}})
    yield folder
    for registry, names in zip(registries, before, strict=True):
        for name in {*registry} - names:
            del registry[name]
    for name in [name for name in sys.modules if name.startswith("retort_study.")]:
        del sys.modules[name]
    own_code.imported.clear()


def problems(own: Path) -> list[str]:
    """Return every problem of the tiny study together with a folder of one's own."""
    return read_study(read_config({"study": [str(STUDY), str(own)], "papers": ["own", "tiny"]}))[1]


def test_folders_are_one_study(own: Path) -> None:
    study = open_whole(read_config({"study": [str(STUDY), str(own)]}))
    assert (sorted(study.tasks), list(study.folders)) == (["humour", "mood", "rating"], ["own", "tiny"])
    assert study.folders["own"] == own / "papers/own"
    assert "own-constant" in task_types["classification"].metrics
    assert (objectives["own-objective"].__name__, metrics["own-constant"]([], [])) == ("Own", 0.5)
    assert pairs_of("own-crossed", 2, 4) == [(2, 1)]
    assert open_whole(read_config({"study": str(STUDY)})).tasks.keys() == {"mood", "rating"}


def test_the_limits_of_a_metric_stand_where_it_is_registered(own: Path) -> None:
    own_code.read_from([STUDY, own])
    assert metric_limits("own-constant") == (-math.inf, math.inf)
    (own / "metrics/error.py").write_text(METRIC.replace("own-", "neg-").replace('on")', 'on", limits={"le": 0})'))
    own_code.read_from([own])  # files are read anew for other folders
    assert (metric_limits("neg-constant/de"), metric_limits("f1")) == ((-math.inf, 0), (0, 1))
    assert (metric_limits("exact"), metric_limits("best-f1-threshold")) == ((0, 1), (-math.inf, math.inf))


def test_a_home_is_expanded(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(own.parent))
    assert read_config({"study": ["workflow", "~/mine"]}).study_folders[1] == own
    (own.parent / "cluster.yaml").touch()
    assert read_config({"cluster": "~/cluster.yaml"}).cluster == str(own.parent / "cluster.yaml")
    with pytest.raises(StudyError, match="config.yaml: models_dir: there is no folder ~nobody-at-all/x; null takes"):
        read_config({"models_dir": "~nobody-at-all/x"})
    config = read_config({"study": "~nobody-at-all/mine"})
    assert read_study(config)[1] == ["config.yaml: study: there is no folder ~nobody-at-all/mine"]


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("tasks/mood.yaml", "title: T", "mine/tasks/mood.yaml: study/tasks/mood.yaml has this name, too; rename one"),
        ("papers/tiny/a.txt", "", "mine/papers/tiny: study/papers/tiny has this name, too; rename one"),
        ("objectives/b.py", OBJECTIVE.format(name="own-objective"), "two objectives are called 'own-objective', in "),
        ("objectives/b.py", OBJECTIVE.format(name="hidden-cls"), "objectives/hidden.py and {own}/objectives/b.py"),
        ("objectives/b.py", OBJECTIVE.format(name="b").replace("Literal[", "Odd["), "the annotations of its options"),
        ("objectives/b.py", "def f(:", "config.yaml: study: {own}/objectives/b.py is no Python: invalid syntax"),
        ("mappings/b.py", "", 'mine/mappings/b.py: nothing is registered; write @mappings.register("a-name") above it'),
        ("metrics/b.py", METRIC.replace("own-", "b-").replace(', of="classification"', ""), "'b-constant': write of="),
        ("metrics/b.py", METRIC.replace("own-", "b-").replace('on")', 'on", limits=(0, 1))'), "'b-constant': limits: "),
        ("metrics/b.py", METRIC.replace('"own-constant"', "NAME"), "nothing is registered; write @metrics.register("),
        ("metrics/b.py", METRIC.replace('"own-constant", ', ""), "nothing is registered; write @metrics.register("),
        ("figures/b.py", "import nowhere_at_all", "/figures/b.py cannot be imported: ModuleNotFoundError: No module"),
        ("figures/b.py", FIGURE.format(kind="layers"), "two kind of figures are called 'layers'; rename one; the"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_in_one_line(own: Path, file: str, text: str, line: str) -> None:
    (own / file).parent.mkdir(exist_ok=True)
    (own / file).write_text(text)
    (found,) = problems(own)
    assert line.format(own=own) in found


@pytest.mark.parametrize(
    "given",
    [
        "'own-constant', of='classification'",
        '\n    # of every row\n    "own-constant",\n    of="classification",\n',
        'name="own-constant", of="classification"',
        'of="classification", name="own-constant"',
    ],
)
def test_what_a_check_finds_registered_jobs_find_too(own: Path, given: str) -> None:
    (own / "metrics/own.py").write_text(METRIC.replace('"own-constant", of="classification"', given))
    assert problems(own) == []
    assert metrics["own-constant"]([], []) == 0.5
    assert provenance.objectives_in({"metric_for_best_model": "own-constant"}) == {"own-constant"}


def test_entries_of_shared_files_have_names_of_their_own(own: Path) -> None:
    other = own.parent / "other"
    for folder in (own, other):
        write(folder, "papers/columns.yaml", {"two": [{"label": "L", "metric": "own-constant", "task": "humour"}]})
    config = read_config({"study": [str(STUDY), str(own), str(other)], "papers": ["tiny"]})
    clash = "other/papers/columns.yaml: two: mine/papers/columns.yaml has this name, too; rename one"
    assert read_study(config)[1] == [clash]


def test_a_score_depends_on_its_own_files_of_python_alone(own: Path) -> None:
    assert problems(own) == []
    settings = {"terms": [{"objective": "own-objective"}], "metric_for_best_model": "own-constant"}
    assert provenance.objectives_in(settings) == {"own-objective", "own-constant"}
    ask = f"from retort import provenance as p; print(p.code(p.objectives_in({settings})))"

    def code() -> list[str]:
        done = subprocess.run([sys.executable, "-c", ask], env=os.environ, capture_output=True, text=True, check=True)
        return done.stdout.split()

    (shared, *_), before = provenance.code().split(), code()
    assert [word.partition(":")[0] for word in before] == [shared, "hidden", "metrics/own", "objectives/own"]
    (own / "objectives/unused.py").write_text(OBJECTIVE.format(name="own-unused"))
    assert code() == before
    (own / "metrics/own.py").write_text(METRIC.replace("0.5", "0.6"))
    assert [new == old for new, old in zip(code(), before, strict=True)] == [True, True, False, True]


@pytest.mark.parametrize(
    ("name", "line", "files"),
    [
        ("own-two", "from retort.objectives import hidden, logits", ["hidden", "logits"]),
        ("own-named", "import retort.objectives.contrast as c", ["contrast", "hidden"]),
        ("own-late", "def f():\n    from retort.objectives.logits import SoftLabels", ["logits"]),
        ("own-form", "from retort.objectives.relation_forms.choice import form_on", []),  # which all results depend on
    ],
)
def test_a_score_depends_on_the_objectives_that_its_own_imports(
    own: Path, name: str, line: str, files: list[str]
) -> None:
    text = OBJECTIVE.format(name=name).replace("from retort.objectives.hidden import linear_map", line)
    (own / "objectives/own.py").write_text(text)
    own_code.read_from([own])
    _, *words = provenance.code(frozenset([name])).split()
    assert [word.partition(":")[0] for word in words] == [*files, "objectives/own"]


def test_a_process_takes_no_code_of_one_study_for_that_of_another(own: Path) -> None:
    assert (problems(own), metrics["own-constant"]([], [])) == ([], 0.5)
    copy, other = own.parent / "copy/mine", own.parent / "other/mine"
    for folder in (copy, other):
        shutil.copytree(own, folder)
    (copy / "metrics/own.py").write_bytes(METRIC.replace("\n", "\r\n").encode())
    assert problems(copy) == []  # the same code from another place, as a run reads it
    file, renamed = other / "metrics/own.py", other / "metrics/a.py"
    file.write_text(METRIC.replace("0.5", "0.6"))
    line = "config.yaml: study: {} holds other code for {} than this process has imported from {}; start Python anew"
    assert problems(other) == [line.format(file, "metrics/own", own / "metrics/own.py")]
    file.rename(renamed)
    assert problems(other) == [line.format(renamed, "metrics 'own-constant'", own / "metrics/own.py")]
    renamed.unlink()
    (other / "figures/own.py").write_text(FIGURE.format(kind="own-others"))
    assert problems(other) == [line.format(other / "figures/own.py", "figures/own", own / "figures/own.py")]
    assert own_code.folders() == (str(STUDY), str(copy))  # what is open stays open


def test_jobs_read_the_python_files_of_the_plan(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    config = read_config({"study": [str(STUDY), str(own)]})
    files = files_of(config)
    (own / "metrics/own.py").write_text("broken(")
    begin({}, config, files)
    (path,) = own_code.files("metrics")
    assert (path.is_relative_to(Path("results/runs").absolute()), path.read_text()) == (True, METRIC)


def test_a_folder_is_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, table = tmp_path / "mine", tmp_path / "table.csv"
    table.write_text("Model,SST-2\nBERT,94\n")
    assert main(["new", "--study", str(mine)]) == 0
    assert sorted(path.name for path in mine.iterdir()) == ["config.yaml", "papers"]
    assert main(["new", "lee2025", "--from", str(table), "--config", str(mine / "config.yaml")]) == 0
    assert (mine / "papers/lee2025/table1.yaml").is_file()
    capsys.readouterr()
    nothing = "nothing to begin; give a paper and --from TABLE, or --study FOLDER, or both"
    for call, line in (
        (["--study", str(mine)], f"{mine}/config.yaml exists already; use it: --config {mine}/config.yaml"),
        (["lee2025"], nothing),
        ([], nothing),
        (
            ["pocket", "--from", str(table), "--config", str(mine / "config.yaml")],
            "papers/pocket exists already",
        ),
    ):
        assert main(["new", *call]) == 2
        assert line in capsys.readouterr().err
