"""Tests that terms which cannot be computed are reported before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny.edit import change, problems
from tests.unit.specs.test_mistakes import STUDENTS


@pytest.mark.parametrize(
    ("term", "said"),
    [
        (
            "objective: attention-kl, mapping: {listed: {pairs: [[0, 0]]}}",
            "mapping: layer 0 is the output of the embeddings, which has no keys, queries; objective 'attention-kl'",
        ),
        (
            "objective: relations, mapping: last, options: {heads: 3, normaliser: sums}",
            "no normaliser of objective 'relations' is called 'sums'; did you mean 'sum'?",
        ),
        ("objective: relations, mapping: last, options: {heads: 3, pairs: [q-q, q-w]}", "is called 'q-w'"),
        ("objective: hidden-cls, mapping: last, options: {map: allways}", "did you mean 'always'?"),
        (
            "objective: mha-output-relation, mapping: last, options: {splits: 5}",
            "stages.1.terms.1.options.splits: objective 'mha-output-relation': the student's width 24 cannot",
        ),
        ("objective: value-relation, mapping: last, options: {floor: high}", "takes a number, not 'high'"),
        (
            "objective: direct, mapping: last, options: {heads: many}",
            "option 'heads' of objective 'direct' takes a whole number, not 'many'",
        ),
    ],
)
def test_a_term_that_cannot_be(study_folder: Path, term: str, said: str) -> None:
    change(study_folder, STUDENTS, "objective: attention-kl, mapping: uniform", term)
    assert any(said in line for line in problems(study_folder)), problems(study_folder)
