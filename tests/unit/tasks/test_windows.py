"""Tests of the windows into which long contexts are cut, with tokenizers of three families."""

from __future__ import annotations

import pytest
from retort.data.encoded import Encoded
from retort.data.tokenizers import Tokeniser
from retort.errors import RetortError
from retort.tasks.windows import Question, windows

from tests.unit.tasks.contexts import CONTEXT, FAMILIES, QUESTIONS, tokenizer_of


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("room", "overlap"), [(12, 4), (24, 8), (200, 8)])
def test_windows_are_those_of_the_tokenizer(family: str, room: int, overlap: int) -> None:
    """Windows have the input ids, token type ids and characters of `tokenizers` when it cuts the second text."""
    tokenizer = tokenizer_of(family)
    length = room + max(len(tokenizer.encode(question.text).ids) for question in QUESTIONS)
    rows = Encoded.from_table(windows(QUESTIONS, Tokeniser.of(tokenizer), length, overlap, 64)[""])
    tokenizer.enable_truncation(length, stride=overlap, strategy="only_second")
    row = 0
    for number, question in enumerate(QUESTIONS):
        whole = tokenizer.encode(question.text, question.context)
        for window in (whole, *whole.overflowing):
            own = slice(rows.offsets[row], rows.offsets[row + 1])
            assert rows.input_ids[own].tolist() == window.ids
            # after the first window, `tokenizers` gives the second text token type id 1, whatever the template says
            types = window.type_ids if 1 in whole.type_ids else [0] * len(window.ids)
            assert rows.token_type_ids[own].tolist() == types
            spans = [
                span if text == 1 else (-1, -1) for span, text in zip(window.offsets, window.sequence_ids, strict=True)
            ]
            assert list(zip(rows.more["starts"][own], rows.more["ends"][own], strict=True)) == spans
            assert rows.more["question"][row] == number
            row += 1
    assert row == len(rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_lead_back_to_the_first_answer(family: str) -> None:
    rows = Encoded.from_table(windows(QUESTIONS, Tokeniser.of(tokenizer_of(family)), 64, 15, 64)[""])
    held: dict[int, list[str]] = {}
    for row, (first, last) in enumerate(rows.labels.tolist()):
        number, at = int(rows.more["question"][row]), rows.offsets[row]
        if last:
            shown = QUESTIONS[number].context[rows.more["starts"][at + first] : rows.more["ends"][at + last]]
            held.setdefault(number, []).append(shown)
        else:
            assert first == 0
    assert {number: set(shown) for number, shown in held.items()} == {0: {"Oban"}, 1: {"twice a day"}, 2: {"é"}}


def test_a_long_question_is_cut_and_a_window_without_room_is_told() -> None:
    tokenise = Tokeniser.of(tokenizer_of("bert"))
    long = Question("long", "the old ferry " * 30, CONTEXT, (), "squad")
    rows = Encoded.from_table(windows([long], tokenise, 40, 8, 12)[""])
    first = rows.input_ids[: rows.offsets[1]].tolist()
    assert first.index(3) == 13  # [CLS], twelve tokens, [SEP]
    with pytest.raises(RetortError, match="question long: 7 tokens of its context fit .*, and windows overlap by 8"):
        windows([long], tokenise, 22, 8, 12)
