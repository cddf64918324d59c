"""The verb `schemas`, which writes the JSON schemas of the YAML files."""

from __future__ import annotations

import argparse

from retort.atomic import write_text
from retort.cli.base import argument, verb
from retort.specs.config import ROOT
from retort.specs.schemas import current_files


@verb("schemas", argument("--check", action="store_true", help="write nothing; the exit status is 1 if one is old"))
def write_schemas(arguments: argparse.Namespace) -> int:
    """Write workflow/schemas, by which editors check YAML files, and name them in the first lines of these files."""
    texts = current_files()
    old = [path for path in texts if not path.is_file() or path.read_bytes() != texts[path].encode()]
    for path in old:
        print(f"{path.relative_to(ROOT)}: {'not current; run `retort schemas`' if arguments.check else 'written'}")
        if not arguments.check:
            write_text(path, texts[path])
    return int(bool(old) and arguments.check)
