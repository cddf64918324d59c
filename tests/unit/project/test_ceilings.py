"""Tests that what a reader must hold in the head does not grow unseen: a raised ceiling is a change that says why."""

from __future__ import annotations

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import yaml
from retort.cli import VERBS
from retort.cli.base import verbs
from retort.specs.exhibit import Answers
from retort.study.reasons import Status

from tests.conftest import ROOT

WORKFLOW = ROOT / "workflow"
PACKAGE = sorted((WORKFLOW / "retort").rglob("*.py"))
RULES = [*WORKFLOW.glob("rules/*.smk"), *ROOT.glob("Snakefile"), WORKFLOW / "Snakefile"]
SCRIPTS = [*WORKFLOW.glob("scripts/*.py"), *WORKFLOW.glob("snakemake_*_plugin_retort/*.py")]
TESTS = sorted((ROOT / "tests").rglob("*.py"))

RULE = re.compile(r"^\s*(?:rule|checkpoint)\b *(\w*)(?:\(.*\))? *:", re.MULTILINE)
STARTS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}  # what stands before a statement
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def classes(paths: Iterable[Path]) -> list[str]:
    """Return the names of the public classes at the top of modules."""
    found = [node for path in paths for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    return [node.name for node in found if not node.name.startswith("_")]


def kinds_of_rules() -> int:
    """Return the number of rules by name; rules that are named by data count as one each time they are written."""
    names = [name for path in RULES for name in RULE.findall(path.read_text())]
    return len(set(filter(None, names))) + names.count("")


def names_twice() -> list[str]:
    """Return the names that classes of two modules have."""
    return sorted(name for name, count in Counter(classes(PACKAGE)).items() if count > 1)


def code_lines(paths: Iterable[Path]) -> int:
    """Return the number of lines with code: neither empty, nor a comment, nor a docstring."""
    count = 0
    for path in paths:
        lines, before = set[int](), tokenize.NEWLINE
        with path.open("rb") as stream:
            tokens = [token for token in tokenize.tokenize(stream.readline) if token.type != tokenize.ENCODING]
        for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
            is_docstring = token.type == tokenize.STRING and before in STARTS and after.type == tokenize.NEWLINE
            if token.type not in NO_CODE and not is_docstring:
                lines |= set(range(token.start[0], token.end[0] + 1))
            before = before if token.type in (tokenize.COMMENT, tokenize.NL) else token.type
        count += len(lines)
    return count


# what is counted -> today's number, and how it is counted
CEILINGS: dict[str, tuple[int, Callable[[], int]]] = {
    "rooms": (18, lambda: len({path.parts[-2] for path in WORKFLOW.glob("retort/*/__init__.py")})),
    "kinds of rules": (28, kinds_of_rules),
    "keys of config.yaml": (16, lambda: len(yaml.safe_load((ROOT / "config.yaml").read_text()))),
    "verbs of retort": (14, lambda: len(list(verbs))),
    "classes of settings": (26, lambda: len(classes(WORKFLOW.glob("retort/settings/*.py")))),
    "answers of an exhibit": (14, lambda: len([name for name in vars(Answers) if not name.startswith("_")])),
    "statuses": (9, lambda: len(Status)),
    "names of two classes": (0, lambda: len(names_twice())),
    "dict[str, Any]": (77, lambda: sum(path.read_text().count("dict[str, Any]") for path in PACKAGE)),
    "code lines": (26744, lambda: code_lines([*PACKAGE, *RULES, *SCRIPTS])),
    "code lines of tests": (22688, lambda: code_lines(TESTS)),
}


@pytest.mark.parametrize("what", CEILINGS)
def test_nothing_grows(what: str) -> None:
    ceiling, count = CEILINGS[what]
    assert count() <= ceiling, f"{what}: {', '.join(names_twice())}" if what == "names of two classes" else what


def test_every_verb_is_counted() -> None:
    assert len(VERBS) <= len(list(verbs))


def test_a_docstring_is_no_code(tmp_path: Path) -> None:
    path = tmp_path / "a.smk"
    path.write_text(
        '"""Rules\nof two."""\n\n\nrule a:\n    """Make."""\n'
        '    output:\n        "x", # a file\n        y="z"\n        "zz",\n'
    )
    assert code_lines([path]) == 5
    assert RULE.findall("rule a:\nrule:\n    rule b(c):\ncheckpoint d:\n# rule e\nrules = 1\n") == ["a", "", "b", "d"]
