"""The rules of the workflow, read from workflow/rules without Snakemake, and their wildcards."""

from __future__ import annotations

import functools
import re

from retort.specs.config import ROOT

WILDCARD = re.compile(r"{(\w+)}")
_RULE = re.compile(r"^rule (\w+):$", re.MULTILINE)
_LOG = re.compile(r'^    log:\n\s+"(.*)",$', re.MULTILINE)


@functools.cache
def local_rules() -> frozenset[str]:
    """Return the names of the rules whose jobs run where Snakemake runs, also on a cluster."""
    _, _, after = (ROOT / "Snakefile").read_text(encoding="utf-8").partition("\nlocalrules:\n")
    return frozenset(re.findall(r"\w+", after.partition("\n\n")[0]))


@functools.cache
def rules() -> dict[str, frozenset[str]]:
    """Return rule -> names of its wildcards; they are read from the path of its log, which has all of them."""
    wildcards = {}
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        _, *parts = _RULE.split(path.read_text(encoding="utf-8"))  # text, name, text, name, text, ...
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            log = _LOG.search(text)
            wildcards[name] = frozenset(WILDCARD.findall(log[1] if log else ""))
    return wildcards
