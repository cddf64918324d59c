"""Mistakes with the files of a study: links to nothing, folders, other endings, contents of another kind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.tiny.edit import CLAIMS, CORPUS, PAPER, SOURCE, STUDENTS, TABLE, TASK

Action = Callable[[Path], object]


def link(name: str) -> Action:
    """Return an action that makes a file a link to nothing."""

    def act(study: Path) -> None:
        (study / name).unlink(missing_ok=True)
        (study / name).symlink_to("nowhere.yaml")

    return act


def folder(name: str) -> Action:
    """Return an action that makes a file a folder."""

    def act(study: Path) -> None:
        (study / name).unlink(missing_ok=True)
        (study / name).mkdir()

    return act


def rename(name: str, to: str) -> Action:
    """Return an action that moves a file."""

    def act(study: Path) -> None:
        (study / to).parent.mkdir(exist_ok=True)
        (study / name).rename(study / to)

    return act


def content(name: str, data: bytes) -> Action:
    """Return an action that writes a file anew."""
    return lambda study: (study / name).write_bytes(data)


def folder_like(name: str, to: str) -> Action:
    """Return an action that gives a folder a second name."""
    return lambda study: shutil.copytree(study / name, study / to)


def copy(name: str, to: str) -> Action:
    """Return an action that gives a file a second name."""
    return lambda study: shutil.copy(study / name, study / to)


def without(name: str) -> Action:
    """Return an action that removes a folder."""
    return lambda study: shutil.rmtree(study / name)


def bomb(of: str) -> bytes:
    """Return lines of which each has the one before ten times."""
    lines = (f"a{number}: &a{number} {of % ', '.join([f'*a{number - 1}'] * 10)}\n" for number in range(1, 99))
    return ("a0: &a0 {key: 1}\n" + "".join(lines)).encode()


LINK = "cannot be read (link to a file that does not exist); put a file here that you may read, or remove it"
FOLDER = "cannot be read (Is a directory); put a file here that you may read, or remove it"
TAGGED = [("int", "abc"), ("float", "[1]"), ("bool", "maybe"), ("map", "[a, b]"), ("null", "abc")]
# what is done, the only line
# fmt: off
MISTAKES: list[tuple[Action, str]] = [
    (folder_like("tasks", "taks"), "nothing reads a file of this name here; did you mean a name such as 'tasks/*"),
    (folder_like("models", "zzz"), "study/zzz/encoder.yaml: nothing reads a file of this name here"),
    *((link(name), f"study/{name}: {LINK}") for name in (TASK, STUDENTS, PAPER, TABLE, CLAIMS, CORPUS, "facts.yaml")),
    *((folder(name), f"study/{name}: {FOLDER}") for name in (TASK, STUDENTS, PAPER, TABLE, CLAIMS, "facts.yaml")),
    *((content(name, b""), f"study/{name}: give a mapping, not nothing") for name in (TASK, PAPER, TABLE, CORPUS)),
    *((content(name, b"- a\n"), f"study/{name}: give a mapping, not a list") for name in (TASK, PAPER, TABLE, CORPUS)),
    *((content(SOURCE, data), f"study/{SOURCE}: where the files come from is not") for data in (b"", b"- a", b"3")),
    *((content(name, b""), f"study/{name}: give a mapping, not nothing") for name in (STUDENTS, CLAIMS, "facts.yaml")),
    *((content(name, b"a\n"), f"study/{name}: give a mapping, not 'a'") for name in (STUDENTS, CLAIMS)),
    (content(TASK, b"title: caf\xe9\n"), f"study/{TASK}: not UTF-8 text"),
    (content(TASK, b"title: \x00\n"), f"study/{TASK}: not valid YAML (unacceptable character #x0000"),
    (content(TASK, b"title: x\n---\ntitle: y\n"), f"study/{TASK}: line 2: not valid YAML (but found another document)"),
    (content(TASK, b"title: &a [*a]\n"), f"study/{TASK}: line 1: what stands here holds itself"),
    *((content(TASK, nested), f"study/{TASK}: line 1: lists or mappings are nested too deep; a file of a study")
      for nested in (b"title: " + b"[" * 100_000, b"- " * 200, b"? " * 200, b"title: " + b"{a: " * 101 + b"}" * 101)),
    *((content(TASK, bomb(of)), f"study/{TASK}: line 7: more than 4 MiB with its aliases written out; use fewer")
      for of in ("[%s]", "{<<: [%s]}")),
    (content(TASK, b"#" * (1 << 22) + b"\n"), f"study/{TASK}: larger than 4 MiB; a file of a study is smaller"),
    (content(TASK, b"labels: !!set {a, b}\n"), f"study/{TASK}: line 1: the tag !!set is of no use here"),
    (content(TASK, b"title: !!python/name:os.system x\n"),
     f"study/{TASK}: line 1: the tag !!python/name:os.system is of no use here"),
    *((content(name, f"a: !!{tag} {value}\n".encode()), f"study/{name}: line 1: the tag !!{tag} is of no use here")
      for name in (TASK, STUDENTS) for tag, value in TAGGED),
    (content(TASK, b"title: 0b_\n"), f"study/{TASK}: line 1: YAML reads 0b_ as another number"),
    (content(TASK, b"title: " + b"9" * 5000), f"study/{TASK}: line 1: a number of 5000 digits"),
    (content("tasks/a\x9b\u202eb.yaml", b""), r"study/tasks/a\x9b\u202eb.yaml: file name: "),
    (content(STUDENTS, b"kd: [unclosed"), f"study/{STUDENTS}: line 2: not valid YAML"),
    (rename(TASK, "tasks/mood.yml"), "study/tasks/mood.yml: nothing reads a file of this name here; did you mean a"),
    (rename(STUDENTS, "papers/tiny/students.yml"), "study/papers/tiny/students.yml: nothing reads a file of this name"),
    (rename(CORPUS, "corpora/old/sentences.yaml"),
     "study/corpora/old/sentences.yaml: nothing reads a file of this name here"),
    (rename("papers/tiny/table4.yaml", "papers/tiny/tableA.yaml"), "tableA"),
    (content("tasks/my task.yaml", b"title: x\n"), "study/tasks/my task.yaml: file name: 'my task' does not match"),
    (copy(TASK, "tasks/model.yaml"), "study/tasks/model.yaml: 'model' is taken: results/students/<student>/model"),
    (copy(CORPUS, "corpora/task.yaml"), "study/corpora/task.yaml: 'task' is taken: `data: task` in a stage means"),
    (content("papers/tiny/notes.yaml", b"a: 1\n"), "study/papers/tiny/notes.yaml: nothing reads a file of this name"),
    (content("fact.yaml", b"a: 1\n"), "study/fact.yaml: nothing reads a file of this name here; did you mean 'facts"),
    (content("papers/columns.yaml", b"a: ["), "study/papers/columns.yaml: line 2: not valid YAML"),
    (without("corpora"), "no corpus is called 'sentences'; there are: none"),
]
# fmt: on
