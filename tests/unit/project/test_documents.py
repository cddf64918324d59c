"""Tests that documents are right: maps, glossary, links and commands of the READMEs, and the numbers in them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml
from retort.cli.base import verbs
from retort.formatters import with_std
from retort.judgement.certainty import assumed_by, claim_outcome
from retort.judgement.recorded import side_of_recording
from retort.plan.plan import Plan
from retort.specs.config import Config, read_config
from retort.specs.paper import Recording
from retort.study.addresses import name_of_seeds
from retort.study.questions import seeds_of
from retort.study.study import Study
from snakemake.cli import get_argument_parser, parse_config

from tests.conftest import ROOT
from tests.contracts.mistakes.models import MISTAKES
from tests.tiny.results import opened

PACKAGE = ROOT / "workflow" / "retort"
MAP, GLOSSARY = ((PACKAGE / name).read_text() for name in ("README.md", "glossary.md"))
README = (ROOT / "README.md").read_text()
POCKET = ROOT / "workflow/papers/pocket"
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "RELEASING.md",
             *(f"{room}/README.md" for room in ("config", "reports", "results", "slurm", "workstation")),
             *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "workflow").rglob("*.md"))
               if path.parent.name != "templates")]  # fmt: skip
LONGEST = 1500  # words of a guide: what is read in one sitting
LONGER = ("preregistration.md", "statistics.md")  # stands as it was registered; the reference of all verdicts


def names_in(section: str) -> list[str]:
    """Return the names in the first column of the first table after a line of the package's README."""
    table = MAP.split(f"\n{section}\n\n", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def test_the_map_lists_every_package() -> None:
    assert sorted(names_in("## Packages")) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def test_the_map_lists_every_root_module() -> None:
    modules = sorted(path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__"))
    assert sorted(names_in("And next to them:")) == modules


def test_the_glossary_explains_a_word_once() -> None:
    words = re.findall(r"^\| \*\*([\w -]+)\*\* \|", GLOSSARY, re.MULTILINE)
    assert len(words) > 20
    assert len(set(words)) == len(words)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no clone: nothing tells which folders are the project's")
def test_the_readme_names_every_folder_of_the_top_level() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folders = {path.split("/")[0] for path in listed.splitlines() if "/" in path}
    assert {"config", "slurm", "workflow"} <= folders
    names = (ROOT / "README.md").read_text().split("## Where things are", 1)[1].split("```")[1]
    assert folders == {folder for folder in folders if re.search(rf"^{re.escape(folder)}/", names, re.MULTILINE)}


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document: its headings, as hosts of repositories and mkdocs write them in addresses."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_of_a_document_leads_to_a_file_and_to_a_heading_of_it(name: str) -> None:
    for target in re.findall(r"\]\(([^):]+)\)|src=\"([^\":]+)\"", (ROOT / name).read_text()):
        path, _, anchor = (target[0] or target[1]).partition("#")
        there = (ROOT / name).parent / path if path else ROOT / name
        assert there.exists(), path
        assert not anchor or anchor in anchors(there), f"{path}#{anchor}"


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if not name.endswith(LONGER)])
def test_a_guide_is_short_enough_to_be_read(name: str) -> None:
    assert len((ROOT / name).read_text().split()) <= LONGEST


def snakemake_commands(name: str) -> list[str]:
    """Return the arguments of each command of a document that calls Snakemake, in a block or in a sentence."""
    text = (ROOT / name).read_text()
    commands = re.findall(r"^ *snakemake (-.+)$|`snakemake (-[^`]+)`", text, re.MULTILINE)
    return [in_block or in_sentence for in_block, in_sentence in commands]


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if snakemake_commands(name)])
def test_snakemake_reads_each_command_of_a_document_as_it_is_meant(name: str) -> None:
    for command in snakemake_commands(name):
        given = shlex.split(command.partition(" | ")[0], comments=True)
        parsed = get_argument_parser().parse_args(given)
        assert set(parse_config(parsed.config)) <= set(Config.model_fields), command
        assert not [path for path in parsed.configfile if path.suffix != ".yaml"], command
        assert sorted(parsed.targets) == sorted(
            word for word in given if re.match("results/|reports/|bench_gpu", word)
        ), command


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"\bmake (\w+)`", README)) | set(re.findall(r"^make (\w+)", README, re.MULTILINE))
    assert {"run", "test"} <= targets
    for target in sorted(targets):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_guide_to_the_command_line_has_every_verb() -> None:
    commands = (PACKAGE / "cli/README.md").read_text()
    assert set(re.findall(r"^retort (\w+)", commands, re.MULTILINE)) == set(verbs)


@pytest.fixture(scope="module")
def pocket() -> Study:
    """Return the pocket study."""
    return opened({"papers": ["pocket"]})


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """Return the record of the pocket study in bfloat16, with the labels of the rows of its tables of scores."""
    record: dict[str, Any] = yaml.safe_load((POCKET / "recorded/bfloat16.yaml").read_text())
    for name in record["by_seed"]:
        labels = {row["student"]: row["label"] for row in yaml.safe_load((POCKET / f"{name}.yaml").read_text())["rows"]}
        for numbers in (record["tables"], record["by_seed"]):
            numbers[name] = {labels[student]: columns for student, columns in numbers[name].items()}
    return record


def test_the_design_of_the_pocket_study_tells_what_its_record_decides(pocket: Study, recorded: dict[str, Any]) -> None:
    side = side_of_recording(pocket, "pocket", Recording.model_validate(recorded))
    assumed = assumed_by(pocket, "pocket")
    design = (POCKET / "README.md").read_text().partition("| question |")[2].split("\n\n")[0].splitlines()[2:]
    decided = 0
    for (name, claim), line in zip(pocket.claims["pocket"].items(), design, strict=True):
        own, others = (
            [side.numbers[key]["value"] for group in groups for key in group.keys]
            for groups in (claim.cells, claim.than)
        )
        mean = claim.compare.startswith("mean")
        apart = fmean(own) - fmean(others) if mean else min(own) - max(others)  # as the comparison, or its worst pair
        told, kind = [cell.strip() for cell in line.split("|")], claim_outcome(claim, side, assumed).kind
        assert (told[-4].split(" ")[0], told[-2]) == (f"{apart:.1f}", kind), name
        decided += kind.is_decided
    assert f"{len(design)} questions" in README
    assert f"{decided} are decided" in README


def test_the_guide_to_models_shows_lines_that_are_printed() -> None:
    table = (ROOT / "workflow/models/README.md").read_text().partition("| what the folder holds |")[2]
    shown = re.findall(r"`([^`]+)`", table.partition("\n\n")[0])
    assert len(shown) > 8
    assert [line for line in shown if not any(line in said for _, _, said in MISTAKES)] == []


def test_the_readme_prints_the_numbers_and_the_plot_of_the_record(recorded: dict[str, Any]) -> None:
    for label, columns in recorded["tables"]["table1"].items():
        numbers = (with_std(value[0], value[1] if len(value) > 1 else None, 1) for value in columns.values())
        assert f"| {label} | {' | '.join(numbers)} |" in README
    assert f"recorded run ({recorded['run']['date']};" in README
    assert 'src="workflow/papers/pocket/recorded/bfloat16-figure2.svg"' in README


def test_clean_keeps_the_readme_of_each_folder(tmp_path: Path) -> None:
    for folder in ("results", "reports"):
        (tmp_path / folder / "made").mkdir(parents=True)
        shutil.copy(ROOT / folder / "README.md", tmp_path / folder)
        (tmp_path / folder / "made/README.md").write_text("a model card")
        (tmp_path / folder / ".hidden").touch()
    (tmp_path / ".snakemake").mkdir()
    for _ in range(2):  # the second time, nothing is left to delete
        subprocess.run(["make", "-f", str(ROOT / "Makefile"), "clean"], cwd=tmp_path, capture_output=True, check=True)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "reports/README.md",
        "results/README.md",
    ]


def test_the_weights_that_a_guide_asks_for_are_of_a_student_that_runs() -> None:
    text = (ROOT / "results/README.md").read_text()
    student, task, seeds = re.findall(r"-- results/students/([\w-]+)/(\w+)/([\d-]+)\n", text)[0]
    plan = Plan(read_config({"papers": ["soft-labels"], "scale": "studies"}))
    assert (student, task) in plan.pairs
    assert name_of_seeds(seeds_of(plan.study, student)) == seeds
    assert f'results/students/{student}/{task}/{seeds}/seed-{seeds.split("-")[0]}")' in text
