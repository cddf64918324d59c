"""Tests of the configuration that a verb reads: the file of `--config`, over the config.yaml of the current folder."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.cli.base import config_of
from retort.errors import RetortError
from retort.specs.config import Config
from snakemake.common.configfile import load_configfile
from snakemake.utils import update_config


def write(path: Path, content: Any) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


def named(path: Path) -> Config:
    return config_of(Namespace(config=str(path)))


def test_a_named_file_stands_over_the_configuration_of_the_folder_as_in_snakemake(here: Path) -> None:
    own = write(here / "config.yaml", {"scale": "reduced", "students_together": 3, "papers": ["wang2023"]})
    mine = write(here / "mine.yaml", {"scale": "paper", "precision": "bfloat16"})
    merged = load_configfile(str(own))
    update_config(merged, load_configfile(str(mine)))
    config = named(mine)
    assert config.model_dump(exclude_unset=True) == merged
    assert (config.scale, config.students_together) == ("paper", 3)
    assert [config.origin(key) for key in ("scale", "students_together")] == ["mine.yaml", "config.yaml"]


@pytest.mark.parametrize(("content", "said"), [
    ({"students_together": 0}, "config.yaml: students_together: Input should be greater than or equal to 1"),
    (["scale"], "config.yaml: give a mapping, not a list"),
], ids=["a value", "a list"])  # fmt: skip
def test_a_mistake_is_told_with_the_file_that_has_it(here: Path, content: Any, said: str) -> None:
    write(here / "config.yaml", content)
    with pytest.raises(RetortError, match=said):
        named(write(here / "mine.yaml", {"scale": "paper"}))
