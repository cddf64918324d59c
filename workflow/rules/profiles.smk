"""Parameters and latency."""


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
