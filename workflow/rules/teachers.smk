"""Teachers: fine-tuned on tasks, with a head on corpora."""


rule run_grid_of_teacher:
    """Fine-tune a teacher at each point of one part of its grid and note its metric on dev."""
    input:
        **rule_of["run_grid_of_teacher"].inputs,
    output:
        **rule_of["run_grid_of_teacher"].outputs,
    log:
        rule_of["run_grid_of_teacher"].log,
    wildcard_constraints:
        **rule_of["run_grid_of_teacher"].constraints,
    priority: rule_of.priority(rule_of["run_grid_of_teacher"])
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["run_grid_of_teacher"]),
    params:
        **rule_of["run_grid_of_teacher"].params,
    message:
        rule_of.message(rule_of["run_grid_of_teacher"])
    script:
        "../scripts/run_grid_of_teacher.py"


rule finetune_teacher:
    """Fine-tune a teacher on a task under its one seed."""
    input:
        **rule_of["finetune_teacher"].inputs,
    output:
        **rule_of["finetune_teacher"].outputs,
    log:
        rule_of["finetune_teacher"].log,
    wildcard_constraints:
        **rule_of["finetune_teacher"].constraints,
    priority: rule_of.priority(rule_of["finetune_teacher"])
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["finetune_teacher"]),
    params:
        **rule_of["finetune_teacher"].params,
    message:
        rule_of.message(rule_of["finetune_teacher"])
    script:
        "../scripts/finetune_teacher.py"


rule fit_teacher_head:
    """Fit a masked-LM head over the frozen teacher, for students that learn its output distribution."""
    input:
        **rule_of["fit_teacher_head"].inputs,
    output:
        **rule_of["fit_teacher_head"].outputs,
    log:
        rule_of["fit_teacher_head"].log,
    wildcard_constraints:
        **rule_of["fit_teacher_head"].constraints,
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["fit_teacher_head"]),
    params:
        **rule_of["fit_teacher_head"].params,
    message:
        rule_of.message(rule_of["fit_teacher_head"])
    script:
        "../scripts/fit_teacher_head.py"
