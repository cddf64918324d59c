"""References for objectives on the output of the embeddings."""

from __future__ import annotations

from tests.references.examples import Case
from tests.references.plain import (
    activation_relation,
    reference,
    sequence_mse,
)

reference(
    Case("embedding-mse"),
    Case("embedding-mse", {"mean_over": "texts"}),
)(sequence_mse("embeddings"))
reference(
    Case("embedding-relation"),
    Case("embedding-relation", {"mean_over": "texts"}),
)(activation_relation("embeddings", lambda case: 1))
reference(
    Case("word-relation"),
    Case("word-relation", {"mean_over": "texts"}),
)(activation_relation("words", lambda case: 1))
