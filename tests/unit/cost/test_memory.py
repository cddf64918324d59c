"""Tests of the memory of a step: how many rows of a batch fit a GPU."""

from __future__ import annotations

import pytest
from retort.cost import memory
from retort.cost.losses import LossCost
from retort.cost.memory import Step, micro_batch

ROOM = memory.GPU_RESERVED + 100 / memory.GPU_FRACTION  # a GPU with room for 100 bytes


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(8, None), (9, 5), (17, 6), (1000, 8)],  # 17 rows: 9, then 6 a part; 1000: 8 in 125 parts
)
def test_a_batch_is_cut_into_the_fewest_parts_that_fit(rows: int, expected: int | None) -> None:
    step = Step(rows, state=20, gradients=0, row=10)  # 8 rows fit
    assert micro_batch(step, ROOM) == expected


def test_gradients_come_while_activations_go() -> None:
    assert Step(2, state=5, gradients=7, row=1).bytes(2) == 5 + 7
    assert Step(20, state=5, gradients=7, row=1).bytes(20) == 5 + 20


def test_relations_are_held_a_few_heads_at_a_time() -> None:
    heads, head = 48, 1 << 23
    step = Step(8, 0, 0, 0, LossCost(relation=heads * head, relation_heads=heads))
    assert step.bytes(1) == memory.CHUNK_BYTES * memory.CHUNK  # four heads of a row
    assert step.bytes(8) == memory.CHUNK_BYTES * 8 * head  # one head of all rows is more


def test_a_state_is_in_memory_once_more_while_it_is_written() -> None:
    step = Step(2, state=100, gradients=30, row=20)
    assert memory.host(step, 10, gpu=False, workers=0, written=50) == memory.PROCESS[False] + 140 + 40 + 50
    once = Step(2, state=100, gradients=30, row=20, micro_batch=1)  # one row at once, on a CPU, too
    assert memory.host(once, 10, gpu=False, workers=0, written=50) == memory.PROCESS[False] + 130 + 40 + 50
    assert memory.host(step, 10, gpu=True, workers=0, written=50) == memory.PROCESS[True] + 40 + 50


def test_companions_keep_their_states_and_take_turns() -> None:
    one = Step(8, state=100, gradients=30, row=10, teacher=50)
    other = Step(8, state=60, gradients=20, row=4, teacher=50)
    both = memory.together([other, one], kept=24)
    assert both == Step(8, state=160, gradients=30, row=10, teacher=50, kept=3)
    assert both.bytes(2) == 160 + 30 + 50 + 24  # micro-batches do not make less of what is kept of the whole batch
