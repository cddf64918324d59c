"""Triton kernels of the KL divergence between relations, which never write a relation to memory.

Notation, for one head of one example: student rows a and columns b, teacher rows c and columns d, row weight w,
    s_ij = a_i . b_j / sqrt(student size)    q_ij = exp((s_ij - m_i) - log sum_j exp(s_ij - m_i)),  m_i = max_j s_ij
    u_ij = c_i . d_j / sqrt(teacher size)    p_ij: the same of u
with sums over the columns j that count. A row's greatest score m ("top") and the logarithm ("log") are stored apart:
their sum would be rounded to the size of the scores. As in attention kernels, a program computes a block of scores from
the vectors wherever it needs one, in registers: `row_divergence` for the sums of rows and their divergence, `gradient`
for the gradients.

Vectors are contiguous (batch, length, heads x size), statistics of rows contiguous (batch, heads, STATISTICS, length)
float32. The grid has one axis: blocks of tokens of (example, head) pairs, blocks first. No two programs write to the
same place, so results do not depend on their order. SIZE_S and SIZE_T are the head sizes of student and teacher; WIDE_S
and WIDE_T the next powers of two, at least 16. Products of 16-bit vectors are exact in TF32; those of float32 vectors
are computed with three TF32 products, which keeps float32's precision.
"""

import triton
import triton.language as tl

LEAST = tl.constexpr(-1e9)  # a score below all others; finite, so that rows without columns stay finite
# the statistics of a row: m and log of q and of p, and its divergence
TOP_Q, TOP_P, LOG_Q, LOG_P, KL = map(tl.constexpr, range(5))
STATISTICS = tl.constexpr(5)


@triton.jit
def _vectors(pointer, tokens, length, stride, SIZE: tl.constexpr, WIDE: tl.constexpr):
    """Load (tokens, WIDE) vectors of one head as float32, with zeros where no token or no feature exists."""
    features = tl.arange(0, WIDE)
    mask = (tokens < length)[:, None] & (features < SIZE)[None, :]
    return tl.load(pointer + tokens[:, None] * stride + features[None, :], mask=mask, other=0.0).to(tl.float32)


@triton.jit
def _counted(keys, tokens, length):
    """Load the mask of the tokens of an example that count as columns."""
    return tl.load(keys + tokens, mask=tokens < length, other=0) != 0


@triton.jit
def _mine(
    student, teacher, length, heads, BLOCK: tl.constexpr,
    SIZE_S: tl.constexpr, WIDE_S: tl.constexpr, SIZE_T: tl.constexpr, WIDE_T: tl.constexpr,
):  # fmt: skip
    """Return the work of this program: a pair of example and head, a block of its tokens, and their vectors.

    Also return where the pair's vectors of student and teacher start.
    """
    blocks = tl.cdiv(length, BLOCK)
    pair = (tl.program_id(0) // blocks).to(tl.int64)  # example x heads + head
    tokens = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    example, head = pair // heads, pair % heads
    in_s, in_t = (example * length * heads + head) * SIZE_S, (example * length * heads + head) * SIZE_T
    x = _vectors(student + in_s, tokens, length, heads * SIZE_S, SIZE_S, WIDE_S)  # (BLOCK, WIDE_S)
    y = _vectors(teacher + in_t, tokens, length, heads * SIZE_T, SIZE_T, WIDE_T)  # (BLOCK, WIDE_T)
    return pair, example, tokens, in_s, in_t, x, y


@triton.jit
def _scores(
    x, y, student, teacher, keys, columns, length, heads, scale_s, scale_t,
    SIZE_S: tl.constexpr, WIDE_S: tl.constexpr, PRODUCT_S: tl.constexpr,
    SIZE_T: tl.constexpr, WIDE_T: tl.constexpr, PRODUCT_T: tl.constexpr,
):  # fmt: skip
    """Return the scores s and u of tokens against columns, the columns' student vectors, and which columns count.

    Shapes: x (tokens, WIDE_S), y (tokens, WIDE_T) -> s and u (tokens, columns), vectors (columns, WIDE_S), (1, columns)
    """
    z = _vectors(student, columns, length, heads * SIZE_S, SIZE_S, WIDE_S)
    v = _vectors(teacher, columns, length, heads * SIZE_T, SIZE_T, WIDE_T)
    s = tl.dot(x, tl.trans(z), input_precision=PRODUCT_S) * scale_s
    u = tl.dot(y, tl.trans(v), input_precision=PRODUCT_T) * scale_t
    return s, u, z, _counted(keys, columns, length)[None, :]


@triton.jit
def _with_columns(s, u, counts, m_q, m_p, sum_q, sum_p, cross):
    """Add a block of columns to the sums of rows, as in online softmax: rescale the sums to the new greatest scores."""
    next_q = tl.maximum(m_q, tl.max(tl.where(counts, s, LEAST), 1))
    next_p = tl.maximum(m_p, tl.max(tl.where(counts, u, LEAST), 1))
    s -= next_q[:, None]
    u -= next_p[:, None]
    powers_q = tl.exp(tl.where(counts, s, LEAST))
    powers_p = tl.exp(tl.where(counts, u, LEAST))
    shrink = tl.exp(m_p - next_p)
    cross = shrink * (cross + sum_p * ((m_p - next_p) - (m_q - next_q))) + tl.sum(powers_p * (u - s), 1)
    sum_p = shrink * sum_p + tl.sum(powers_p, 1)
    sum_q = tl.exp(m_q - next_q) * sum_q + tl.sum(powers_q, 1)
    return next_q, next_p, sum_q, sum_p, cross


@triton.jit
def row_divergence(
    a, b, c, d, keys, statistics,
    length, heads, scale_s, scale_t,
    SIZE_S: tl.constexpr, WIDE_S: tl.constexpr, PRODUCT_S: tl.constexpr,
    SIZE_T: tl.constexpr, WIDE_T: tl.constexpr, PRODUCT_T: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write m and log of q and p, and the divergence, of a block of rows: sum_j p_ij (log p_ij - log q_ij).

    One pass over the columns keeps, for each row, the greatest scores m_q and m_p so far, and relative to them
        sum_q = sum_j exp(s_ij - m_q)      sum_p = sum_j exp(u_ij - m_p)
        cross = sum_j exp(u_ij - m_p) ((u_ij - m_p) - (s_ij - m_q))
    so that the divergence is cross / sum_p - log sum_p + log sum_q. A row without columns has 0.
    """
    pair, example, rows, in_s, in_t, x, y = _mine(a, c, length, heads, ROWS, SIZE_S, WIDE_S, SIZE_T, WIDE_T)
    keys += example * length
    m_q = tl.full((ROWS,), LEAST, tl.float32)
    m_p = tl.full((ROWS,), LEAST, tl.float32)
    sum_q = tl.zeros((ROWS,), tl.float32)
    sum_p = tl.zeros((ROWS,), tl.float32)
    cross = tl.zeros((ROWS,), tl.float32)
    for start in range(0, length, COLUMNS):
        s, u, _, counts = _scores(
            x, y, b + in_s, d + in_t, keys, start + tl.arange(0, COLUMNS), length, heads, scale_s, scale_t,
            SIZE_S, WIDE_S, PRODUCT_S, SIZE_T, WIDE_T, PRODUCT_T,
        )  # fmt: skip
        m_q, m_p, sum_q, sum_p, cross = _with_columns(s, u, counts, m_q, m_p, sum_q, sum_p, cross)
    some = sum_p > 0
    sum_p = tl.where(some, sum_p, 1.0)
    log_q, log_p = tl.log(tl.where(some, sum_q, 1.0)), tl.log(sum_p)
    divergence = cross / sum_p - log_p + log_q
    at = statistics + pair * STATISTICS * length + rows
    tl.store(at + TOP_Q * length, m_q, mask=rows < length)
    tl.store(at + TOP_P * length, m_p, mask=rows < length)
    tl.store(at + LOG_Q * length, log_q, mask=rows < length)
    tl.store(at + LOG_P * length, log_p, mask=rows < length)
    tl.store(at + KL * length, divergence, mask=rows < length)


@triton.jit
def _slope(s, u, counts, m_q, m_p, log_q, log_p, weights):
    """Return d loss / d s = w (q - p) where the column counts, else 0."""
    q = tl.exp(tl.where(counts, (s - m_q) - log_q, LEAST))  # 0 where the column does not count, and so is p
    p = tl.exp(tl.where(counts, (u - m_p) - log_p, LEAST))
    return weights * (q - p)


@triton.jit
def _of_rows(statistics, weights, rows, length, AXIS: tl.constexpr):
    """Load the statistics of rows that `_slope` needs: m and log of q and p, and the weight.

    AXIS is the axis along which they are broadcast to the scores: 1 if these rows are the rows of the scores, else 0.
    """
    mask = rows < length
    at = statistics + rows
    m_q = tl.expand_dims(tl.load(at + TOP_Q * length, mask=mask, other=0.0), AXIS)
    m_p = tl.expand_dims(tl.load(at + TOP_P * length, mask=mask, other=0.0), AXIS)
    log_q = tl.expand_dims(tl.load(at + LOG_Q * length, mask=mask, other=0.0), AXIS)
    log_p = tl.expand_dims(tl.load(at + LOG_P * length, mask=mask, other=0.0), AXIS)
    return m_q, m_p, log_q, log_p, tl.expand_dims(tl.load(weights + rows, mask=mask, other=0.0), AXIS)


@triton.jit
def gradient(
    mine_s, others_s, mine_t, others_t, keys, weights, statistics, upstream, result,
    length, heads, scale_s, scale_t,
    SIZE_S: tl.constexpr, WIDE_S: tl.constexpr, PRODUCT_S: tl.constexpr,
    SIZE_T: tl.constexpr, WIDE_T: tl.constexpr, PRODUCT_T: tl.constexpr,
    AS_ROWS: tl.constexpr, AS_COLUMNS: tl.constexpr, MINE: tl.constexpr, OTHERS: tl.constexpr,
):  # fmt: skip
    """Write the gradient of the student's vectors of a block of tokens, mine: a sum over all tokens of the example.

    With slopes d_ij = d loss / d s_ij = w_i (q_ij - p_ij):
    as rows, mine are a_i and the others b_j:     d loss / d a_i = sum_j d_ij b_j / sqrt(size);
    as columns, mine are b_j and the others a_i:  d loss / d b_j = sum_i d_ij a_i / sqrt(size).
    Where rows and columns are the same vectors, both: s_ij = s_ji and u_ij = u_ji, so that the scores serve twice.
    """
    pair, example, tokens, in_s, in_t, x, y = _mine(mine_s, mine_t, length, heads, MINE, SIZE_S, WIDE_S, SIZE_T, WIDE_T)
    keys, weights = keys + example * length, weights + example * length
    statistics += pair * STATISTICS * length
    my_counts = _counted(keys, tokens, length)[:, None]
    m_q, m_p, log_q, log_p, weight = _of_rows(statistics, weights, tokens, length, 1)
    total = tl.zeros((MINE, WIDE_S), tl.float32)
    for start in range(0, length, OTHERS):
        others = start + tl.arange(0, OTHERS)
        s, u, z, counts = _scores(
            x, y, others_s + in_s, others_t + in_t, keys, others, length, heads, scale_s, scale_t,
            SIZE_S, WIDE_S, PRODUCT_S, SIZE_T, WIDE_T, PRODUCT_T,
        )  # fmt: skip
        slopes = tl.zeros((MINE, OTHERS), tl.float32)
        if AS_ROWS:
            slopes += _slope(s, u, counts, m_q, m_p, log_q, log_p, weight)
        if AS_COLUMNS:
            n_q, n_p, norm_q, norm_p, their_weight = _of_rows(statistics, weights, others, length, 0)
            slopes += _slope(s, u, my_counts, n_q, n_p, norm_q, norm_p, their_weight)
        total += tl.dot(slopes, z, input_precision="tf32x3")
    total *= scale_s * tl.load(upstream)
    features = tl.arange(0, WIDE_S)
    place = result + in_s + tokens[:, None] * (heads * SIZE_S) + features[None, :]
    tl.store(place, total.to(result.dtype.element_ty), mask=(tokens < length)[:, None] & (features < SIZE_S)[None, :])
