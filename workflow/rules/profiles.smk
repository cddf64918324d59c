"""Parameters and latency."""


rule profile_student:
    """Count parameters and time forward passes of an architecture, alone on the machine."""
    input:
        model=plan.profile_model,
    output:
        "results/profiles/{student}.json",
    log:
        "results/logs/profile_student/{student}.log",
    conda:
        "../../envs/retort.yaml"
    threads: plan.every_core
    resources:
        gpu=needs.gpu,
        gpu_model=needs.gpu_model,
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
    params:
        settings=plan.at("profiles/{student}"),
    script:
        "../scripts/profile_student.py"
