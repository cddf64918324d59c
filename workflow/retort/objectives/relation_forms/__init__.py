"""The sum of weight x KL(teacher's relation || student's relation), computed in several forms.

All forms take the same arguments and return the same number and the same gradients, up to rounding:

- `cached`: a few heads at a time, small enough for a CPU's cache; what runs on a CPU.
- `plain`: the same in PyTorch with as few passes through memory as its operations allow; what a GPU falls back to.
- `fused`: Triton kernels that never write a relation to memory; what runs on a GPU after `choice` has compared it with
  `plain` on that GPU.
"""
