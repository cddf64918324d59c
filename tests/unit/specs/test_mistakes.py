"""Tests of messages: each mistake that a user is likely to make has one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from retort.errors import RetortError, StudyError
from retort.specs.config import Config, read_config
from retort.study.load import read

from tests.tiny.edit import change, problems

STUDENTS, TABLE, TASK = "papers/tiny/students.yaml", "papers/tiny/table1.yaml", "tasks/mood.yaml"
CORPUS, CLAIMS = "corpora/sentences.yaml", "papers/tiny/claims.yaml"
PROTOCOL, PAPER = "protocols/short.yaml", "papers/tiny/paper.yaml"

MISTAKES = [
    (STUDENTS, "objective: soft-labels", "objective: soft-label",
     "students.yaml: kd.stages.1.terms.1: no objective is called 'soft-label'; did you mean 'soft-labels'?"),
    (STUDENTS, "mapping: uniform", "mapping: unifrom", "no mapping is called 'unifrom'; did you mean 'uniform'?"),
    (STUDENTS, "mapping: uniform", "mapping: {single: {layer: 5}}", "teacher has no layer 5"),
    (STUDENTS, "mapping: last", "mapping: initial",
     "narrow.stages.1.terms.1.mapping: mapping 'initial' is for students that start from teacher layers"),
    (STUDENTS, "mapping: uniform", "mapping: {single: {depth: 5}}", "depth"),
    (STUDENTS, "objective: attention-kl, mapping: uniform", "objective: attention-kl",
     "objective 'attention-kl' needs a mapping"),
    (STUDENTS, "{objective: soft-labels}", "{objective: soft-labels, mapping: last}", "leave out 'mapping'"),
    (STUDENTS, "{objective: soft-labels}", "{objective: soft-labels, options: {temprature: 2.0}}",
     "no option of objective 'soft-labels' is called 'temprature'; did you mean 'temperature'?"),
    (STUDENTS, "{objective: soft-labels}", "{objective: soft-labels, options: {temperature: hot}}",
     "takes a number, not 'hot'"),
    (STUDENTS, "layers: [2, 4]", "layers: [2, 5]", "teacher 'tiny-teacher' has no layer 5; it has 4"),
    (STUDENTS, "layers: [2, 4]", "layers: [2]", "1 teacher layers listed for 2 student layers"),
    (STUDENTS, "initialisation: {random: true}", "initialisation: {layers: [4]}", "use 'random: true'"),
    (STUDENTS, "{student: tiny-narrow}", "{student: tiny-predicting}", "starts from itself"),
    (STUDENTS, "{student: tiny-narrow}", "{student: tiny-narow}", "did you mean 'tiny-narrow'?"),
    (STUDENTS, "teacher: tiny-teacher", "teacher: tiny-teachr", "no teacher is called 'tiny-teachr'"),
    (STUDENTS, "attention:\n", "kd:\n", "line 8: 'kd' is given twice; rename one of the two"),
    (STUDENTS, "kd:\n", "k/../d:\n", "does not match the pattern"),
    (STUDENTS, "data: sentences", "data: sentence", "no corpus is called 'sentence'; did you mean 'sentences'?"),
    (STUDENTS, "heads: 3", "heads: 5", "hidden (24) is not a multiple of heads (5)"),
    (STUDENTS, "  teacher: tiny-teacher", "  techer: tiny-teacher",
     "no key is called 'techer'; did you mean 'teacher'?"),
    (TABLE, "metric: accuracy", "metric: acuracy", "no metric is called 'acuracy'; did you mean 'accuracy'?"),
    (TABLE, "task: mood", "task: moods", "no task is called 'moods'; did you mean 'mood'?"),
    (TABLE, "student: tiny-kd", "student: tiny-kdd", "no student is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
    (TABLE, "student: tiny-kd", "student: kdd", "no student is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
    (TABLE, "tiny-kd: {Mood", "tiny-kd: {Moood", "no column is called 'Moood'; did you mean 'Mood'?"),
    (TABLE, "kind: scores", "kind: score", "score"),
    (TASK, "metrics: [accuracy]", "metrics: [pearson]", "metric 'pearson' is not one of classification's"),
    (TASK, "split: {seed: 1, test: 40, dev: 20}", "split: {seed: 1, dev: 20}", "mood.yaml: split.test: Field required"),
    (TASK, "name: rated-sentences", "name: rated-sentence", "did you mean 'rated-sentences'?"),
    (TASK, "file: rated.txt", "fil: rated.txt", "no option of reader 'rated-sentences' is called 'fil'"),
    (TASK, "task_type: classification", "task_type: classifikation", "did you mean 'classification'?"),
    (TASK, "split: {seed: 1, test: 40, dev: 20}\n", "", "give 'reader' and 'split' (rows are drawn), or 'splits'"),
    (TASK, "version: 1",
     "version: 1\nevaluation_split: tset", "evaluation_split: no split is called 'tset'; did you mean"),
    (TASK, "version: 1", "version: 1\nmetric_for_best_model: acuracy",
     "metric_for_best_model: no metric is called 'acuracy'"),
    (TASK, "labels: [sad, glad]\nmetrics: [accuracy]", "labels: [sad, glad, calm]\nmetrics: [f1]",
     "metric 'f1' is of two classes, and the task has 3"),
    (TASK, "labels: [sad, glad]", "labels: [sad]", "'labels' takes two or more names"),
    (PROTOCOL, "learning_rate: [1.0e-3, 2.0e-3]", "learning_rate: []", "grid.learning_rate"),
    (PROTOCOL, "steps: 6", "steps: 6, epochs: 2", "schedule: give 'steps' or 'epochs', one of the two"),
    (PROTOCOL, "rating: {steps: 4}", "mood: {learning_rate: 0.1}",
     "tasks.mood.learning_rate: 'grid' tries its own; give it there, in 'grids.mood'"),
    (PROTOCOL, "seeds:", "grids: {moods: {learning_rate: [0.1], batch_size: [8]}}\nseeds:",
     "grids: no task is called 'moods'; did you mean 'mood'?"),
    (PROTOCOL, "seeds:", "grids: {mood: {learning_rate: [0.1], batch_size: [8], epochs: [2]}}\nseeds:",
     "grids.mood.epochs: the schedule counts in steps; give it 'epochs'"),
    (PROTOCOL, "learning_rate: [1.0e-3, 2.0e-3]", "learning_rate: [1.0e-3], epochs: [2, 3]",
     "grid.epochs: the schedule counts in steps"),
    (PROTOCOL, "steps: 6", "steps: 0", "schedule.steps: Input should be greater than 0, not 0"),
    (PROTOCOL, "rating: {steps: 4}", "rating: {stepps: 4}", "no key is called 'stepps'; did you mean 'steps'?"),
    (PROTOCOL, "rating: {steps: 4}", "ratings: {steps: 4}", "no task is called 'ratings'; did you mean 'rating'?"),
    (PAPER, "table4, ", "tabel4, ", "no table or figure is called 'tabel4'; did you mean 'table4'?"),
    (PAPER, "model: encoder", "model: encodr", "no model is called 'encodr'; did you mean 'encoder'?"),
    ("papers/tiny/table3.yaml", "of: [table1]", "of: [table9]", "no table is called 'table9'"),
    (CORPUS, "format: rated-lines", "format: rated-line",
     "components.1.format: no text format is called 'rated-line'; did you mean 'rated-lines'?"),
    (CORPUS, "source: texts", "source: textes",
     "components.1.source: no source is called 'textes'; did you mean 'texts'?"),
    (CORPUS, "rated-lines}", "rated-lines, options: {field: a}}",
     "components.1.options: no option of format 'rated-lines' is called 'field'"),
    (CORPUS, "block: 16", "block: 16\npacking: continous", "did you mean 'continuous'?"),
    (CORPUS, "block: 16", "block: 16\nsmoothing: 0.3", "it needs 'blocks', and components without a share"),
    (CORPUS, "rated-lines}", "rated-lines, share: 0.5}", "the shares add up to 0.5, not to 1"),
    (CORPUS, "rated-lines}]", "rated-lines, share: 1}, {source: texts, files: [a], format: text}]",
     "1 of 2 components give a share; give all of them or none"),
    (CORPUS, "files: [rated.txt]", "files: [../rated.txt]", "components.1.files.1: '../rated.txt' leaves its folder"),
    ("sources/texts.yaml", "path: texts", "pth: texts", "sources/texts.yaml"),
    (CLAIMS, "[Vanilla KD], columns: [Mood]", "[Vanilla KD], columns: [Mod]",
     "kd-above-attention: no column of table1 is called 'Mod'; did you mean 'Mood'?"),
    (CLAIMS, "rows: [Attention]", "rows: [Atention]",
     "no row of table1 is called 'Atention'; did you mean 'Attention'?"),
    (CLAIMS, "{table: table1, rows: [Vanilla", "{table: tabel1, rows: [Vanilla",
     "kd-above-attention: no table is called 'tabel1'; did you mean 'table1'?"),
    (CLAIMS, "{table: table1, rows: [Vanilla", "{table: table3, rows: [Vanilla",
     "kd-above-attention: no row of table3 is called 'Vanilla KD'; there are: none"),
    (CLAIMS, "above\n", "abov\n", "kd-above-attention.compare: no comparison is called 'abov'; did you mean 'above'?"),
    (CLAIMS, "compare: above\n  cells: [{table: table1, rows: [Vanilla KD], columns: [Mood]}]\n  than: [{table: "
     "table1, rows: [Attention], columns: [Mood]}]", "compare: two-texts\n  number: '1'\n  other: '2'",
     "kd-above-attention: 'other' compares text with text, which audit.yaml is for"),
]  # fmt: skip


def test_the_study_itself_has_no_problem(study_folder: Path) -> None:
    assert problems(study_folder) == []


@pytest.mark.parametrize(("name", "old", "new", "said"), MISTAKES)
def test_mistake_gets_one_clear_line(study_folder: Path, name: str, old: str, new: str, said: str) -> None:
    change(study_folder, name, old, new)
    found = problems(study_folder)
    assert any(said in line for line in found), f"expected {said!r} in:\n" + "\n".join(found)
    assert len(found) == 1, "\n".join(found)
    assert all("\n" not in line for line in found)
    assert all(".yaml" in line for line in found)


def test_all_problems_of_all_files_come_at_once(study_folder: Path) -> None:
    change(study_folder, STUDENTS, "mapping: uniform", "mapping: unifrom")
    change(study_folder, TASK, "name: rated-sentences", "name: rated-sentence")
    change(study_folder, CLAIMS, "rows: [Attention]", "rows: [Atention]")
    found = problems(study_folder)
    assert {line.split(":")[0].split("/")[-1] for line in found} == {"students.yaml", "mood.yaml", "claims.yaml"}


def test_heads_that_differ_name_an_objective_without_that_limit(study_folder: Path) -> None:
    change(study_folder, STUDENTS, "objective: hidden-sequence", "objective: attention-mse")
    assert any("'relations' has no such limit" in line for line in problems(study_folder))


def test_a_broken_file_is_told_once(study_folder: Path) -> None:
    (study_folder / STUDENTS).write_text("kd: [unclosed")
    found = problems(study_folder)
    assert len(found) == 1
    assert "not valid YAML" in found[0]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"scal": "pocket"}, "no key is called 'scal'; did you mean 'scale'?"),
        ({"scale": "huge"}, "scale"),
        ({"precision": "float8"}, "precision"),
        ({"papers": []}, "papers"),
    ],
)
def test_bad_configuration(config: dict[str, object], said: str) -> None:
    with pytest.raises(StudyError, match="config.yaml") as caught:
        read_config(config)
    assert said in str(caught.value)


def test_unknown_paper(study_folder: Path) -> None:
    found = read(Config(papers=["tinny"], study=str(study_folder)))[1]
    assert found == ["config.yaml: papers: no paper is called 'tinny'; did you mean 'tiny'?"]


def test_damaged_archive(tmp_path: Path) -> None:
    from retort.data.packages import verify
    from retort.specs.source import Package

    archive = tmp_path / "package-1.0.tar.gz"
    archive.write_bytes(b"damaged")
    source = Package(package="package", version="1.0", distribution="sdist", sha256="0" * 64, folder="f")
    with pytest.raises(RetortError, match=r"package-1.0.tar.gz: sha256 is .* the download is damaged"):
        verify(archive, source)


def test_missing_source_folder(tmp_path: Path) -> None:
    from retort.data.sources import fetch
    from retort.specs.source import Folder

    with pytest.raises(RetortError, match="source folder .*nowhere does not exist"):
        fetch(Folder(path=str(tmp_path / "nowhere")), tmp_path / "to", tmp_path / "state")


def test_a_line_that_is_no_rated_text(tmp_path: Path) -> None:
    from retort.data.texts import Section, rated_line_texts

    (tmp_path / "bad.txt").write_text("1\t0.5\tfine\n2\tmissing the rest\n")
    with pytest.raises(RetortError, match=r"bad.txt:2: not 'id, rating, text'"):
        list(rated_line_texts(Section(tmp_path / "bad.txt")))


def test_a_file_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    from retort.data.readers import readers

    (tmp_path / "rated.txt").write_text("1\t0.5\tfine\n")
    with pytest.raises(RetortError, match=r"rates.txt does not exist; the folder holds rated.txt"):
        readers["rated-texts"](tmp_path, file="rates.txt")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "results/x"), "cannot write results/x: No space left"),
        (OSError(30, "Read-only file system", "results/x"), "make the folder writable"),
        (PermissionError(13, "Permission denied", "results/x"), "cannot write results/x"),
    ],
)
def test_full_or_read_only_results(
    error: OSError, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from retort.jobs import job

    with pytest.raises(SystemExit), job(stand_in(tmp_path / "log")):
        raise error
    assert said in capsys.readouterr().err
    assert "Traceback" in (tmp_path / "log").read_text()


def stand_in(log: Path) -> object:
    """Return a stand-in for Snakemake's object, with the few attributes that a job reads."""
    from types import SimpleNamespace

    return SimpleNamespace(rule="rule", wildcards=["a"], log=[str(log)], threads=1, resources={}, config={})


def test_a_bug_keeps_its_traceback(tmp_path: Path) -> None:
    from retort.jobs import job

    with pytest.raises(ZeroDivisionError), job(stand_in(tmp_path / "log")):
        _ = 1 / 0


@pytest.mark.parametrize(("verb", "status"), [("check", 1), ("list", 0)])
def test_the_command_line_says_what_is_wrong(
    study_folder: Path, verb: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    from retort.cli import main

    change(study_folder, STUDENTS, "mapping: uniform", "mapping: unifrom")
    config = study_folder.parent / "config.yaml"
    config.write_text(yaml.safe_dump({"papers": ["tiny"], "study": str(study_folder)}))
    assert main([verb, "--config", str(config)]) == status
    said = capsys.readouterr()
    assert "problem" in said.err
    assert verb == "list" or "did you mean 'uniform'?" in said.out


def test_a_mapping_of_words(study_folder: Path) -> None:
    change(study_folder, STUDENTS, "mapping: uniform", "mapping: {single: {layer: top}}")
    assert any(
        "mapping 'single' cannot take {'layer': 'top'}; layers are whole numbers" in line
        for line in problems(study_folder)
    )


def test_relation_heads_that_do_not_divide(study_folder: Path) -> None:
    change(
        study_folder,
        STUDENTS,
        "objective: hidden-sequence, mapping: last",
        "objective: relations, mapping: last, options: {heads: 5}",
    )
    said = "options.heads: objective 'relations': the student's width 16 cannot be cut into 5 heads; "
    assert any(said in line for line in problems(study_folder))


def test_a_table_of_another_kind_than_its_reader_needs(study_folder: Path) -> None:
    change(study_folder, "papers/tiny/table3.yaml", "of: [table1]", "of: [table2]")
    found = problems(study_folder)
    assert any("table3.yaml: of: 'table2' is not a table of kind 'scores'" in line for line in found)


def test_a_student_called_as_its_teacher(study_folder: Path) -> None:
    change(study_folder, STUDENTS, "attention:\n", "teacher:\n")
    assert any("'tiny-teacher' is also one of the teachers" in line for line in problems(study_folder))


def test_a_file_outside_its_source(study_folder: Path) -> None:
    change(study_folder, "corpora/sentences.yaml", "files: [rated.txt]", "files: [../../secret.txt]")
    assert any("'../../secret.txt' leaves its folder; give a path inside it" in line for line in problems(study_folder))


def test_a_table_whose_name_cannot_be_an_address(study_folder: Path) -> None:
    (study_folder / "papers/tiny/table4.yaml").rename(study_folder / "papers/tiny/tableA.yaml")
    assert any(
        "'tableA' is not a name such as table1, table5-acl or figure2" in line for line in problems(study_folder)
    )


def test_a_file_that_is_not_utf_8(study_folder: Path) -> None:
    (study_folder / TASK).write_bytes(b"title: caf\xe9\n")
    assert any("mood.yaml: not UTF-8 text" in line for line in problems(study_folder))


def test_a_negative_seed(study_folder: Path) -> None:
    change(study_folder, PROTOCOL, "seeds: [1, 2]", "seeds: [1, -2]")
    assert any(
        "short.yaml: seeds.2: Input should be greater than or equal to 0, not -2" in line
        for line in problems(study_folder)
    )
