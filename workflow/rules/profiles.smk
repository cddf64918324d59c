"""Parameters and latency; what a GPU takes for kernels and training steps, if it is asked for by name."""


rule profile_student:
    """Count parameters and time forward passes of an architecture, alone on the machine."""
    input:
        **rule_of["profile_student"].inputs,
    output:
        **rule_of["profile_student"].outputs,
    log:
        rule_of["profile_student"].log,
    wildcard_constraints:
        **rule_of["profile_student"].constraints,
    conda:
        "../../envs/retort.yaml"
    threads: study.plan.every_core
    resources:
        **asked.of(rule_of["profile_student"]),
    params:
        **rule_of["profile_student"].params,
    message:
        rule_of.message(rule_of["profile_student"])
    script:
        "../scripts/profile_student.py"


rule bench_gpu:
    """Measure a GPU for ten minutes at most, beside what the cost model predicts; without one, all of it in small."""
    output:
        **rule_of["bench_gpu"].outputs,
    log:
        rule_of["bench_gpu"].log,
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["bench_gpu"]),
    script:
        "../scripts/bench_gpu.py"
