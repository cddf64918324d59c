"""Tests of the card of a saved model: it says which other code has made a part of it."""

from __future__ import annotations

from pathlib import Path

from retort.checksums import Maker
from retort.engine.job import this_code
from retort.models import build
from retort.models.weights import save_with_card
from retort.specs.model import Architecture

from tests.job_settings import distillation_settings
from tests.tiny.make import make_encoder
from tests.tiny.results import quiet

ARCHITECTURE = Architecture(layers=2, heads=2, hidden=12, intermediate=20)
OLD, OLDER = Maker(commit="abc1234", code="11"), Maker(commit="abc0000", code="10")


def card_of(folder: Path, ancestors: set[Maker], resumed_from: set[Maker]) -> str:
    """Return the card of a model of a job with these ancestors, and that other code began to train."""
    job = quiet()
    job.ancestors, job.resumed_from = ancestors, resumed_from
    save_with_card(job, distillation_settings(ARCHITECTURE), build.load(folder), folder, folder / "saved", "A student")
    return (folder / "saved" / "README.md").read_text()


def test_a_card_says_that_a_model_is_mixed(tmp_path: Path) -> None:
    make_encoder(tmp_path)
    plain = card_of(tmp_path, {this_code()}, {this_code()})
    assert "Mixed" not in plain
    mixed = card_of(tmp_path, {this_code(), OLD}, {OLDER})
    paragraph = (
        "\n**Mixed results**: other code has made a part of it, or of what it was made from: "
        "commit abc0000 (code 10); commit abc1234 (code 11).\n"
    )
    assert mixed.replace(paragraph, "", 1) == plain
