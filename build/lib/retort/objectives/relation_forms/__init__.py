"""The sum of weight x KL(teacher's relation || student's relation), computed in several forms.

All forms take the same arguments and return the same number and the same gradients, up to rounding:

- `cached`: PyTorch, a few heads at a time, which fit into a CPU's cache; runs on CPUs.
- `plain`: PyTorch, with as few passes through memory as possible; runs on GPUs where `fused` does not.
- `fused`: Triton kernels that never write a relation to memory; runs on a GPU once `choice` has compared it with
  `plain` there.
"""
