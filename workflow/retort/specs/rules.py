"""The rules of the workflow, read from workflow/rules without Snakemake: their wildcards, and which ask for a GPU."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from retort.specs.config import ROOT

WILDCARD = re.compile(r"{(\w+)}")
_RULE = re.compile(r"^rule (\w+):$", re.MULTILINE)
_LOG = re.compile(r'^    log:\n\s+"(.*)",$', re.MULTILINE)
_GPU = re.compile(r"^        gpu=", re.MULTILINE)


@dataclass(frozen=True)
class Rule:
    """What a cluster's file can say of the jobs of a rule.

    Args:
        wildcards: the names of its wildcards, which the path of its log repeats.
        asks_for_gpu: whether its jobs ask for a GPU at the scales that are for them.
    """

    wildcards: frozenset[str]
    asks_for_gpu: bool


@functools.cache
def rules() -> dict[str, Rule]:
    """Return every rule by name."""
    found = {}
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        _, *parts = _RULE.split(path.read_text(encoding="utf-8"))  # text, name, text, name, text, ...
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            log = _LOG.search(text)
            found[name] = Rule(frozenset(WILDCARD.findall(log[1] if log else "")), bool(_GPU.search(text)))
    return found
