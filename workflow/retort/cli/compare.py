"""The verb `compare`, which compares two rows of a table."""

from __future__ import annotations

import argparse

from retort.cli.base import argument, config_of, verb
from retort.study.load import open_study, with_every_paper


@verb(
    "compare",
    argument("table", help="paper/table"),
    argument("row", help="the label of a row"),
    argument("other", help="the label of the row that it is compared with"),
)
def compare_two(arguments: argparse.Namespace) -> int:
    """Print the mean difference of two rows of a table of scores, and paired tests over tasks and seeds."""
    from retort.tables.paired_rows import compare_rows

    study = open_study(with_every_paper(config_of(arguments)))
    print("\n".join(compare_rows(study, arguments.table, arguments.row, arguments.other)))
    return 0
