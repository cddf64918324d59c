"""The verb `describe`: a paper's students, teachers and protocols in sentences."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Sequence

from retort.cli.base import argument, config_of, verb
from retort.errors import RetortError
from retort.plan import sentences
from retort.registry import unknown
from retort.study.load import open_whole
from retort.study.study import Study

WIDTH = 110  # of the lines that are printed
CLAUSE_ENDS = (";", ".")
LONGEST = 8  # words in which students that share a description may differ


def _alike(words: Sequence[Sequence[str]]) -> int:
    """Return with how many equal words all lists begin."""
    columns = zip(*words, strict=False)
    return next((index for index, column in enumerate(columns) if len(set(column)) > 1), min(map(len, words)))


def shared(texts: Sequence[str], separator: str = " ") -> str | None:
    """Return one text for several that differ in one place: 'layer {1 | 2 | 3} of 12'; None if they do not.

    A place is within one clause, has whole brackets, and at most `LONGEST` words.
    """
    words = [text.split(separator) for text in texts]
    before = _alike(words)
    before -= before > 0 and any(len(each) == before for each in words)
    after = _alike([each[:before:-1] for each in words])
    for end in range(after, -1, -1):  # of the words that all end with, those that are left outside of the place
        places = [separator.join(each[before : len(each) - end]) for each in words]
        mark = ""
        while len({place[-1:] for place in places}) == 1 and (
            places[0][-1] in ",;." or all(place.count(")") > place.count("(") for place in places)
        ):
            mark, places = places[0][-1] + mark, [place[:-1] for place in places]
        if all(place.count("(") == place.count(")") for place in places):
            break
    if any(place[-1:] in CLAUSE_ENDS or place.count(separator) >= LONGEST for place in places):
        return None
    if any(f"{end} " in place for place in places for end in CLAUSE_ENDS):
        return None
    return separator.join((*words[0][:before], f"{{{' | '.join(places)}}}{mark}", *words[0][len(words[0]) - end :]))


def grouped(family: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (names, description) of the students of a family; those that differ in one place share a description."""
    groups: list[dict[str, str]] = []
    for name, text in family.items():
        group = next((each for each in groups if shared([*each.values(), text])), None)
        if group is None:
            groups.append({name: text})
        else:
            group[name] = text
    for group in groups:
        names, texts = list(group), list(group.values())
        yield (names[0], texts[0]) if len(group) == 1 else (str(shared(names, "-")), str(shared(texts)))


def _entry(name: str, text: str) -> str:
    return textwrap.fill(f"{name}: {text}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def described(study: Study, paper: str, names: Sequence[str]) -> Iterator[str]:
    """Yield a paragraph for each student or group of students, then for each teacher and protocol that they name.

    Args:
        study: the study as its files have it.
        paper: the name of a paper.
        names: names of students; none for all of the paper.

    Raises:
        RetortError: the paper has no student of a name.
    """
    prefix = f"{paper}-"
    students = {name.removeprefix(prefix): name for name in study.students if study.paper_of(name) == paper}
    asked = [name.removeprefix(prefix) for name in names]
    for name in asked:
        if name not in students:
            raise unknown("student", name, students)
    families: dict[str, dict[str, str]] = {}
    for short, name in students.items():
        if short in asked or not asked:
            families.setdefault(study.keys[name], {})[short] = " ".join(sentences.of_student(study, name))
    yield from (_entry(*each) for family in families.values() for each in grouped(family))
    chosen = [study.students[students[short]] for family in families.values() for short in family]
    teachers = list(dict.fromkeys(student.teacher for student in chosen))
    yield ""
    for name in teachers:
        yield _entry(f"Teacher {name.removeprefix(prefix)}", sentences.of_teacher(study, name))
    trained = (*(student.protocol for student in chosen), *(study.teachers[name].protocol for name in teachers))
    for name in dict.fromkeys(trained):
        yield _entry(f"Protocol {name}", sentences.of_protocol(study.protocols[name]))


@verb(
    "describe",
    argument("paper", help="a paper"),
    argument("student", nargs="*", help="its students, by their names inside the paper (default: all)"),
)
def describe(arguments: argparse.Namespace) -> int:
    """Say what each student of a paper is and how it is trained, from its settings, in a sentence or two."""
    study = open_whole(config_of(arguments))
    if arguments.paper not in study.papers:
        raise unknown("paper", arguments.paper, study.papers)
    if not any(study.paper_of(name) == arguments.paper for name in study.students):
        raise RetortError(f"'{arguments.paper}' has no students", "add them in its students.yaml")
    print("\n".join(described(study, arguments.paper, arguments.student)))
    return 0
