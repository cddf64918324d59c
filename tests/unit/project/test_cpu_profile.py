"""The profile for machines without a GPU names every rule that asks for one, and no other."""

from __future__ import annotations

import re

import yaml
from retort.specs.config import ROOT

RULE = re.compile(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def test_no_job_asks_for_a_gpu() -> None:
    rules = [match for file in sorted(ROOT.glob("workflow/rules/*.smk")) for match in RULE.findall(file.read_text())]
    asking = {name for name, body in rules if "gpu=needs.gpu" in body}
    profile = yaml.safe_load((ROOT / "cpu" / "config.yaml").read_text())
    assert profile["set-resources"] == {name: {"gpu": 0} for name in asking}
