"""The characters that answers are compared without."""

from __future__ import annotations

import string
import sys
import unicodedata

import pytest
from retort.tasks.metrics import Removed


@pytest.mark.parametrize("every", [True, False])
def test_what_is_removed_of_all_of_unicode(every: bool) -> None:
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    kept = [
        character
        for character in text
        if character not in string.punctuation and not (every and unicodedata.category(character).startswith("P"))
    ]
    assert list(text.translate(Removed(every))) == kept
