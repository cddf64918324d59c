"""Tests of `retort new`: what it reads of CSV and LaTeX, what it guesses, what it marks, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from retort.cli import main
from retort.specs.config import ROOT
from retort.study.table_cells import plain

LATEX = r"""
\begin{table}[t]
\begin{tabular}{l@{}c|cc c}
\toprule
\multirow{2}{*}{Model} & \multirow{2}{*}{\#Params} & \multicolumn{2}{c}{GLUE} & \multirow{2}{*}{Avg.} \\
\cmidrule(lr){3-4}
 & & MNLI-m/mm & QQP (F1) & \\
\midrule
BERT$_{\text{BASE}}$~\cite{devlin2019} & 109M & 84.6/83.4 & 71.2 & 79.7 \\
\multicolumn{5}{l}{\textit{Six layers}} \\
Ours & 66M & \textbf{83.8}/83.3 & $70.9_{\pm 0.2}$ & 79.3 \\[2pt] % a comment & more
Theirs & 66M & -- & \underline{70.1} $\pm$ 0.4 & -- \\
\bottomrule
\end{tabular}
\caption{Results on the \textbf{test} sets.}
\end{table}
"""
CSV = """Model;Teacher;#Param;Speedup;SQuAD2;SST-2;STS-B;CoLA (Mcc);Foo;Average
BERT;;109M;1.0x;76.8;**94.9**;89;52.1;3;77
Ours;BERT-large;66M;9.4x;70.1;92.1;88;n/a;?;80
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return a configuration whose study has the project's tasks and no paper."""
    (tmp_path / "study/papers").mkdir(parents=True)
    for name in ("corpora", "models", "protocols", "scales", "sources", "tasks"):
        (tmp_path / "study" / name).symlink_to(ROOT / "workflow" / name)
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps({"study": str(tmp_path / "study"), "precision": "float32"}))
    return path


def new(config: Path, name: str, file: str, text: str) -> Path:
    """Run `retort new` on a table of this text, and return the folder of the paper."""
    table = config.parent / file
    table.write_text(text)
    assert main(["new", name, "--from", str(table), "--config", str(config)]) == 0
    return config.parent / "study/papers" / name


def test_a_table_in_latex(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = new(config, "lee2025", "table.tex", LATEX)
    table = yaml.safe_load((folder / "table1.yaml").read_text())
    assert (table["title"], table["numbers"]) == ("Results on the test sets.", 12)
    assert table["columns"] == [
        {"label": "#Params", "metric": "parameters"},
        {"label": "m", "heading": "MNLI-m/mm", "task": "mnli", "metric": "accuracy", "subset": "matched"},
        {"label": "mm", "heading": "MNLI-m/mm", "task": "mnli", "metric": "accuracy", "subset": "mismatched"},
        {"label": "QQP (F1)", "heading": "GLUE", "task": "qqp", "metric": "f1"},
        {"label": "Avg.", "mean_of": ["MNLI-m/mm: m", "MNLI-m/mm: mm", "GLUE: QQP (F1)"]},
    ]
    assert table["rows"] == [
        {"label": "BERTBASE", "planned": "bertbase"},
        {"label": "Ours", "planned": "ours", "group": "Six layers"},
        {"label": "Theirs", "planned": "theirs", "group": "Six layers"},
    ]
    assert table["reported"].splitlines()[-1].split(" | ") == ["Theirs  ", "66M    ", "-   ", "-   ", "70.1±0.4", "-"]
    capsys.readouterr()
    main(["check", "--config", str(config)])
    assert "lee2025" not in capsys.readouterr().out.replace("there are: lee2025", "")


def test_what_cannot_be_guessed_is_marked_and_listed(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (new(config, "lee2025", "table.csv", CSV) / "table1.yaml").read_text().splitlines()
    listed = capsys.readouterr().out
    choices = [(number, line.partition("# choose: ")[2]) for number, line in enumerate(lines, start=1)]
    assert all((f"  line {number}: {choice}\n" in listed) == bool(choice) for number, choice in choices)
    marked = {line.split("#")[0].strip(): line.partition("# choose: ")[2] for line in lines if "# choose: " in line}
    assert marked["- {label: STS-B, task: stsb, metric: pearson}"] == "the metric, one of pearson, spearman"
    assert marked["- {label: Foo, metric: as-reported}"].startswith("'task' and 'metric' if it is measured, too")
    assert marked["split: dev"] == "dev or test"
    assert "  - {label: Average, mean_of: [SQuAD2, SST-2, STS-B, CoLA (Mcc)]}" in lines
    assert "  - {label: Speedup, metric: speed-up}" in lines
    assert "  - {label: CoLA (Mcc), task: cola, metric: matthews}" in lines
    assert "  - {label: Ours / BERT-large, planned: ours-bert-large}" in lines


def test_a_column_that_is_only_reported_stays(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = new(config, "lee2025", "table.csv", "Model,FLOPs,SST-2\nBERT,22.5B,93.5\nOurs,11.3B,92.0\n")
    table = yaml.safe_load((folder / "table1.yaml").read_text())
    assert (table["numbers"], table["columns"][0]) == (4, {"label": "FLOPs", "metric": "as-reported"})
    capsys.readouterr()
    main(["check", "--config", str(config)])
    assert "lee2025/table1" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        (r"\textbf{84.7}", "84.7"),
        (r"$\mathbf{84.7}_{\pm 0.2}$", "84.7±0.2"),
        (r"84.7$_{0.2}$", "84.7±0.2"),
        (r"{\bf 84.7} \small{$\pm$ 0.2}", "84.7±0.2"),
        ("84.7 +/- 0.2", "84.7±0.2"),
        (r"2.0$\times$", "2.0×"),
        (r"99\%", "99%"),
        ("---", "-"),
        ("N/A", "-"),
        ("a|b", "a/b"),
        (r"6\,000", "6000"),
    ],
)
def test_a_cell_without_markup(text: str, cell: str) -> None:
    assert plain(text) == cell


@pytest.mark.parametrize(
    ("name", "file", "text", "line"),
    [
        (
            "lee_2025",
            "t.csv",
            CSV,
            "'lee_2025' is no name of a folder of a paper; write letters and digits, with single",
        ),
        ("taken", "t.csv", CSV, "study/papers/taken exists already; give another name"),
        ("lee2025", "t.csv", None, "t.csv: cannot be read (No such file or directory); name a table as .csv or .tex"),
        ("lee2025", "t.csv", b"\xff\xfe", "t.csv: cannot be read (not UTF-8 text); name a table as .csv or .tex"),
        (
            "lee2025",
            "t.csv",
            "a,b\n",
            "t.csv: no header with rows of numbers below it stands in it; give the whole table",
        ),
        ("lee2025", "t.csv", "a,b\nx,1,2\n", "t.csv: row 'x' has 3 cells for 2 columns; complete the header"),
        ("lee2025", "t.tex", CSV, "t.tex: no tabular stands in it; name the LaTeX source of one table"),
    ],
)
def test_what_cannot_be_gets_one_line(
    config: Path, name: str, file: str, text: str | bytes | None, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (config.parent / "study/papers/taken").mkdir()
    path = config.parent / file
    if text is not None:
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    assert main(["new", name, "--from", str(path), "--config", str(config)]) == 2
    written = capsys.readouterr().err
    assert line in written
    assert written.count("\n") == 1
    assert [each.name for each in (config.parent / "study/papers").iterdir()] == ["taken"]


def test_a_home_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "--study", "~nobody-at-all/x"]) == 2
    assert capsys.readouterr().err == "retort new: there is no folder ~nobody-at-all; write ~ for your own home\n"
