"""Triton kernels of the KL divergence between relations, which never write a relation to memory.

Notation, for one head of one example: student rows a and columns b, teacher rows c and columns d, row weight w,
    s_ij = a_i . b_j / sqrt(student size)    q_ij = exp((s_ij - m_i) - log sum_j exp(s_ij - m_i)),  m_i = max_j s_ij
    u_ij = c_i . d_j / sqrt(teacher size)    p_ij: the same of u
with sums over the columns j that count. A row's greatest score m ("top") and the logarithm ("log") are stored apart:
their sum would be rounded to the size of the scores. As in attention kernels, a program computes a block of scores from
the vectors wherever it needs one, in registers: `row_divergence` for the sums of rows and their divergence, `gradient`
for the gradients.

Vectors are contiguous (batch, length, heads x size), statistics of rows are contiguous (batch, heads, length) float32.
The grid has one axis: blocks of tokens of (example, head) pairs, blocks first. A program writes what no other program
writes, so results do not depend on their order. SIZE_S and SIZE_T are the head sizes of student and teacher; WIDE_S and
WIDE_T the next powers of two, at least 16. Products of 16-bit vectors are exact in TF32; those of float32 vectors are
computed with three TF32 products, which keeps float32's precision.
"""

import triton
import triton.language as tl

LEAST = tl.constexpr(-1e9)  # a score below all others; finite, so that a row without columns is too


@triton.jit
def _vectors(pointer, tokens, exists, stride, SIZE: tl.constexpr, WIDE: tl.constexpr):
    """Load (tokens, WIDE) vectors of one head as float32, with zeros where no token or no feature exists."""
    features = tl.arange(0, WIDE)
    mask = exists[:, None] & (features < SIZE)[None, :]
    return tl.load(pointer + tokens[:, None] * stride + features[None, :], mask=mask, other=0.0).to(tl.float32)


@triton.jit
def row_divergence(
    a, b, c, d, keys, tops_q, tops_p, logs_q, logs_p, kl, kept,
    length, heads, scale_s, scale_t, log_floor,
    SIZE_S: tl.constexpr, WIDE_S: tl.constexpr, PRODUCT_S: tl.constexpr,
    SIZE_T: tl.constexpr, WIDE_T: tl.constexpr, PRODUCT_T: tl.constexpr,
    FLOOR: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write m and log of q and p, and the divergence, of a block of rows: sum_j p_ij (log p_ij - log q_ij).

    One pass over the columns keeps, for each row, the greatest scores m_q and m_p so far, and relative to them
        sum_q = sum_j exp(s_ij - m_q)      sum_p = sum_j exp(u_ij - m_p)
        cross = sum_j exp(u_ij - m_p) ((u_ij - m_p) - (s_ij - m_q))
    so that the divergence is cross / sum_p - log sum_p + log sum_q. With a floor f, log q is at least log f: a second
    pass sums p (log p - max(log q, log f)), and writes kept = sum of p where q > f. A row without columns has 0.
    """
    blocks = tl.cdiv(length, ROWS)
    pair = (tl.program_id(0) // blocks).to(tl.int64)  # example x heads + head
    example, head = pair // heads, pair % heads
    rows = (tl.program_id(0) % blocks) * ROWS + tl.arange(0, ROWS)
    exists = rows < length
    at_s = example * length * heads * SIZE_S + head * SIZE_S
    at_t = example * length * heads * SIZE_T + head * SIZE_T
    a_rows = _vectors(a + at_s, rows, exists, heads * SIZE_S, SIZE_S, WIDE_S)  # (ROWS, WIDE_S)
    c_rows = _vectors(c + at_t, rows, exists, heads * SIZE_T, SIZE_T, WIDE_T)
    m_q = tl.full((ROWS,), LEAST, tl.float32)
    m_p = tl.full((ROWS,), LEAST, tl.float32)
    sum_q = tl.zeros((ROWS,), tl.float32)
    sum_p = tl.zeros((ROWS,), tl.float32)
    cross = tl.zeros((ROWS,), tl.float32)
    for start in range(0, length, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        counts = tl.load(keys + example * length + columns, mask=columns < length, other=0) != 0
        b_columns = _vectors(b + at_s, columns, columns < length, heads * SIZE_S, SIZE_S, WIDE_S)
        d_columns = _vectors(d + at_t, columns, columns < length, heads * SIZE_T, SIZE_T, WIDE_T)
        s = tl.dot(a_rows, tl.trans(b_columns), input_precision=PRODUCT_S) * scale_s  # (ROWS, COLUMNS)
        u = tl.dot(c_rows, tl.trans(d_columns), input_precision=PRODUCT_T) * scale_t
        next_q = tl.maximum(m_q, tl.max(tl.where(counts[None, :], s, LEAST), 1))
        next_p = tl.maximum(m_p, tl.max(tl.where(counts[None, :], u, LEAST), 1))
        s -= next_q[:, None]
        u -= next_p[:, None]
        powers_q = tl.exp(tl.where(counts[None, :], s, LEAST))
        powers_p = tl.exp(tl.where(counts[None, :], u, LEAST))
        shrink = tl.exp(m_p - next_p)
        cross = shrink * (cross + sum_p * ((m_p - next_p) - (m_q - next_q))) + tl.sum(powers_p * (u - s), 1)
        sum_p = shrink * sum_p + tl.sum(powers_p, 1)
        sum_q = tl.exp(m_q - next_q) * sum_q + tl.sum(powers_q, 1)
        m_q, m_p = next_q, next_p
    some = sum_p > 0
    sum_p = tl.where(some, sum_p, 1.0)
    sum_q = tl.where(some, sum_q, 1.0)
    row_log_q = tl.log(sum_q)
    row_log_p = tl.log(sum_p)
    divergence = cross / sum_p - row_log_p + row_log_q
    if FLOOR:
        divergence = tl.zeros((ROWS,), tl.float32)
        mass = tl.zeros((ROWS,), tl.float32)
        for start in range(0, length, COLUMNS):
            columns = start + tl.arange(0, COLUMNS)
            counts = tl.load(keys + example * length + columns, mask=columns < length, other=0) != 0
            b_columns = _vectors(b + at_s, columns, columns < length, heads * SIZE_S, SIZE_S, WIDE_S)
            d_columns = _vectors(d + at_t, columns, columns < length, heads * SIZE_T, SIZE_T, WIDE_T)
            s = tl.dot(a_rows, tl.trans(b_columns), input_precision=PRODUCT_S) * scale_s
            u = tl.dot(c_rows, tl.trans(d_columns), input_precision=PRODUCT_T) * scale_t
            log_q = (s - m_q[:, None]) - row_log_q[:, None]
            log_p = (u - m_p[:, None]) - row_log_p[:, None]
            p = tl.exp(tl.where(counts[None, :], log_p, LEAST))
            divergence += tl.sum(p * (log_p - tl.maximum(log_q, log_floor)), 1)
            mass += tl.sum(tl.where(log_q > log_floor, p, 0.0), 1)
        tl.store(kept + pair * length + rows, mass, mask=exists)
    tl.store(tops_q + pair * length + rows, m_q, mask=exists)
    tl.store(tops_p + pair * length + rows, m_p, mask=exists)
    tl.store(logs_q + pair * length + rows, row_log_q, mask=exists)
    tl.store(logs_p + pair * length + rows, row_log_p, mask=exists)
    tl.store(kl + pair * length + rows, divergence, mask=exists)


@triton.jit
def _slope(log_q, log_p, kept, weights, counts, log_floor, FLOOR: tl.constexpr):
    """Return d loss / d s = w (q - p) where the column counts, else 0; with a floor f: w (q kept - p where q > f)."""
    q = tl.exp(tl.where(counts, log_q, LEAST))  # 0 where the column does not count, and so is p
    p = tl.exp(tl.where(counts, log_p, LEAST))
    if FLOOR:
        slope = q * kept - tl.where(log_q > log_floor, p, 0.0)
    else:
        slope = q - p
    return weights * slope


@triton.jit
def gradient(
    mine_s, others_s, mine_t, others_t, keys, weights, tops_q, tops_p, logs_q, logs_p, kept, upstream, result,
    length, heads, scale_s, scale_t, log_floor,
    SIZE_S: tl.constexpr, WIDE_S: tl.constexpr, PRODUCT_S: tl.constexpr,
    SIZE_T: tl.constexpr, WIDE_T: tl.constexpr, PRODUCT_T: tl.constexpr,
    FLOOR: tl.constexpr, AS_ROWS: tl.constexpr, AS_COLUMNS: tl.constexpr,
    MINE: tl.constexpr, OTHERS: tl.constexpr,
):  # fmt: skip
    """Write the gradient of the student's vectors of a block of tokens, mine: a sum over all tokens of the example.

    With slopes d_ij = d loss / d s_ij = w_i (q_ij - p_ij):
    as rows, mine are a_i and the others b_j:     d loss / d a_i = sum_j d_ij b_j / sqrt(size);
    as columns, mine are b_j and the others a_i:  d loss / d b_j = sum_i d_ij a_i / sqrt(size).
    Where rows and columns are the same vectors, both: s_ij = s_ji and u_ij = u_ji, so that the scores serve twice.
    """
    blocks = tl.cdiv(length, MINE)
    pair = (tl.program_id(0) // blocks).to(tl.int64)
    example, head = pair // heads, pair % heads
    tokens = (tl.program_id(0) % blocks) * MINE + tl.arange(0, MINE)
    exists = tokens < length
    at_s = example * length * heads * SIZE_S + head * SIZE_S
    at_t = example * length * heads * SIZE_T + head * SIZE_T
    x = _vectors(mine_s + at_s, tokens, exists, heads * SIZE_S, SIZE_S, WIDE_S)  # (MINE, WIDE_S)
    y = _vectors(mine_t + at_t, tokens, exists, heads * SIZE_T, SIZE_T, WIDE_T)
    my_key = tl.load(keys + example * length + tokens, mask=exists, other=0) != 0
    my_weight = tl.load(weights + example * length + tokens, mask=exists, other=0.0)
    my_top_q = tl.load(tops_q + pair * length + tokens, mask=exists, other=0.0)
    my_top_p = tl.load(tops_p + pair * length + tokens, mask=exists, other=0.0)
    my_log_q = tl.load(logs_q + pair * length + tokens, mask=exists, other=0.0)
    my_log_p = tl.load(logs_p + pair * length + tokens, mask=exists, other=0.0)
    my_kept = tl.load(kept + pair * length + tokens, mask=exists, other=0.0) if FLOOR else my_weight
    total = tl.zeros((MINE, WIDE_S), tl.float32)
    for start in range(0, length, OTHERS):
        others = start + tl.arange(0, OTHERS)
        real = others < length
        z = _vectors(others_s + at_s, others, real, heads * SIZE_S, SIZE_S, WIDE_S)  # (OTHERS, WIDE_S)
        v = _vectors(others_t + at_t, others, real, heads * SIZE_T, SIZE_T, WIDE_T)
        s = tl.dot(x, tl.trans(z), input_precision=PRODUCT_S) * scale_s  # (MINE, OTHERS)
        u = tl.dot(y, tl.trans(v), input_precision=PRODUCT_T) * scale_t
        slopes = tl.zeros((MINE, OTHERS), tl.float32)
        if AS_ROWS:
            key = tl.load(keys + example * length + others, mask=real, other=0) != 0
            log_q = (s - my_top_q[:, None]) - my_log_q[:, None]
            log_p = (u - my_top_p[:, None]) - my_log_p[:, None]
            slopes += _slope(log_q, log_p, my_kept[:, None], my_weight[:, None], key[None, :], log_floor, FLOOR)
        if AS_COLUMNS:
            weight = tl.load(weights + example * length + others, mask=real, other=0.0)
            top_q = tl.load(tops_q + pair * length + others, mask=real, other=0.0)
            top_p = tl.load(tops_p + pair * length + others, mask=real, other=0.0)
            log_q = (s - top_q[None, :]) - tl.load(logs_q + pair * length + others, mask=real, other=0.0)[None, :]
            log_p = (u - top_p[None, :]) - tl.load(logs_p + pair * length + others, mask=real, other=0.0)[None, :]
            other_kept = tl.load(kept + pair * length + others, mask=real, other=0.0) if FLOOR else weight
            slopes += _slope(log_q, log_p, other_kept[None, :], weight[None, :], my_key[:, None], log_floor, FLOOR)
        total += tl.dot(slopes, z, input_precision="tf32x3")
    total *= scale_s * tl.load(upstream)
    features = tl.arange(0, WIDE_S)
    place = result + at_s + tokens[:, None] * (heads * SIZE_S) + features[None, :]
    tl.store(place, total.to(result.dtype.element_ty), mask=exists[:, None] & (features < SIZE_S)[None, :])
