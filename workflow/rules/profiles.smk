"""Parameters and latency; what a GPU takes for kernels and training steps, if it is asked for by name."""


rule profile_student:
    """Count parameters and time forward passes of an architecture, alone on the machine."""
    input:
        model=reads.released_model,
    output:
        profile="results/profiles/{student}.json",
    log:
        "results/logs/profile_student/{student}.log",
    conda:
        "../../envs/retort.yaml"
    threads: plan.every_core
    resources:
        **asks("profile_student"),
    params:
        settings=settings("profiles", "student"),
    script:
        "../scripts/profile_student.py"


rule bench_gpu:
    """Measure a GPU for ten minutes at most, next to what the cost model predicts; without one, all of it in small."""
    output:
        measured="results/bench/gpu.json",
    log:
        "results/logs/bench_gpu.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("bench_gpu"),
    script:
        "../scripts/bench_gpu.py"
