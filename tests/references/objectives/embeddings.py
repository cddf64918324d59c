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
)(sequence_mse("embeddings"))
reference(
    Case("embedding-relation"),
)(activation_relation("embeddings", lambda case: 1))
