"""Mistakes in the file of a cluster, slurm/partitions.yaml."""

from __future__ import annotations

TIME = "is no time; write minutes, or a text such as 2d, 12h or 2-00:00:00; leave the key out if there is no limit"
NO_VALUE = "it has no value; leave the key out if there is no limit"
WORD = r"does not match the pattern ^\S+$; write a name without spaces"
NAME = r"does not match the pattern ^[\w.@-]+$; write letters, digits, and any of . @ - _"
# a text of the file, what it is replaced by, how the line begins after the name of the file
# fmt: off
MISTAKES: list[tuple[str, str, str]] = [
    *(("max_gpu: 2", new, f"partitions.gpu.{line}") for new, line in [
        ("max_gpus: 2", "max_gpus: no key is called 'max_gpus'; did you mean 'max_gpu'?"),
        ("max_gpu: 2.7", "max_gpu: Input should be a valid integer, not 2.7"),
        ("max_gpu: '2'", "max_gpu: Input should be a valid integer, not '2'; write the number without quotes"),
        ("max_gpu: -2", "max_gpu: Input should be greater than or equal to 0, not -2"),
        ("max_gpu: null", f"max_gpu: {NO_VALUE}"),
        ("max_runtime: 0", f"max_runtime: 0 {TIME}"),
        ("max_runtime: -5", f"max_runtime: -5 {TIME}"),
        ("max_runtime: 0h", f"max_runtime: '0h' {TIME}"),
        ("max_runtime: 2-", f"max_runtime: '2-' {TIME}"),
        ("max_runtime: '30:00'", f"max_runtime: '30:00' {TIME}"),
        ("max_runtime: 0-12:00:00", f"max_runtime: '0-12:00:00' {TIME}"),
        ("max_runtime: infinite", f"max_runtime: 'infinite' {TIME}"),
        ("max_runtime: inf", f"max_runtime: 'inf' {TIME}"),
        ("max_runtime: 2 days", f"max_runtime: '2 days' {TIME}"),
        ("max_runtime: 9999999999-00:00:00", f"max_runtime: '9999999999-00:00:00' {TIME}"),
        (f"max_runtime: {'9' * 310}d", f"max_runtime: '{'9' * 310}d' {TIME}"),
        ("max_runtime: ١٢h", f"max_runtime: '١٢h' {TIME}"),
        ("max_runtime: ١٢", f"max_runtime: '١٢' {TIME}"),
        ("max_runtime: true", f"max_runtime: True {TIME}"),
        ("max_runtime: [1]", f"max_runtime: [1] {TIME}"),
        ("max_runtime: null", f"max_runtime: {NO_VALUE}"),
        ("max_mem_mb: 0", "max_mem_mb: Input should be greater than 0, not 0"),
        ("max_mem_mb: 80GB", "max_mem_mb: Input should be a valid number, not '80GB'"),
        ("max_threads: null", f"max_threads: {NO_VALUE}"),
        ("available_gpu_models: h100", "available_gpu_models: give a list, not 'h100'"),
        ("available_gpu_models: [h100, h100]", "available_gpu_models: 'h100' is listed twice"),
    ]),
    ("cpu: {}", "cpu: null", "partitions.cpu: give a mapping, not nothing"),
    ("cpu: {}", "cpu: 3", "partitions.cpu: give a mapping, not 3"),
    ("cpu: {}", "'a b': {}", f"partitions.a b: 'a b' {NAME}"),
    ("cpu: {}", "cpu,gpu: {}", f"partitions.cpu,gpu: 'cpu,gpu' {NAME}"),
    ("cpu: {}", "$(id): {}", f"partitions.$(id): '$(id)' {NAME}"),
    ("cpu: {}", "a/b: {}", f"partitions.a/b: 'a/b' {NAME}"),
    ("cpu: {}", "gpu: {}", "line 8: 'gpu' is given twice; rename one of the two"),
    ("partitions:", "partitons:", "partitons: no key is called 'partitons'; did you mean 'partitions'?"),
    ("gpu_model: null", "gpu_model: 3", "gpu_model: Input should be a valid string, not 3"),
    ("gpu_model: null", "gpu_model: h100 --x", f"gpu_model: 'h100 --x' {NAME}"),
    ("gpu_model: null", "gpu_model: h100:2", f"gpu_model: 'h100:2' {NAME}"),
    ("account: null", "account: 12345", "account: Input should be a valid string, not 12345; put it in quotes: YAML"),
    ("account: null", "account: a b", f"account: 'a b' {NAME}"),
    ("account: null", "account: a;b", f"account: 'a;b' {NAME}"),
    ("account: null", "account: ''", f"account: '' {NAME}"),
    ("qos: null", "qos: high|low", f"qos: 'high|low' {NAME}"),
    ("max_gpu: 2", "slurm_cluster: a,b", f"partitions.gpu.slurm_cluster: 'a,b' {NAME}"),
    ("max_gpu: 2", "available_gpu_models: ['a=b']", f"partitions.gpu.available_gpu_models.1: 'a=b' {NAME}"),
    ("qos: null", "qos: 7", "qos: Input should be a valid string, not 7"),
    ("constraint: null", "constraint: ''", f"constraint: '' {WORD}"),
    ("cpus_per_gpu: null", "cpus_per_gpu: 0", "cpus_per_gpu: Input should be greater than 0, not 0"),
    ("gpu_memory_gb: 80", "gpu_memory_gb: 1e-9",
     "gpu_memory_gb: Input should be greater than or equal to 2, not 1e-09"),
    ("gpu_memory_gb: 80", "gpu_memory_gb: 80000", "gpu_memory_gb: Input should be less than or equal to 10000"),
    ("gpu_memory_gb: 80", "gpu_memory: 80", "gpu_memory: no key is called 'gpu_memory'; did you mean 'gpu_memory_gb'?"),
    ("gpus_per_job: 1", "gpus_per_job: 8",
     "gpus_per_job: no partition takes jobs with 8 GPUs; the largest max_gpu is 2"),
    ("gpus_per_job: 1", "gpus_per_job: 0", "gpus_per_job: Input should be greater than or equal to 1, not 0"),
    ("gpus_per_job: 1", "gpus_per_job: 1000000", "gpus_per_job: Input should be less than or equal to 64, not 1000000"),
]
# fmt: on
