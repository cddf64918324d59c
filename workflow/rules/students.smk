"""Students: task-specific (distilled on the task itself) and task-agnostic (distilled once on a corpus)."""


rule run_grid_on_task:
    """Distil a student on a task at each point of one part of its grid and note its metric on dev."""
    input:
        **rule_of["run_grid_on_task"].inputs,
    output:
        **rule_of["run_grid_on_task"].outputs,
    log:
        rule_of["run_grid_on_task"].log,
    wildcard_constraints:
        **rule_of["run_grid_on_task"].constraints,
    priority: rule_of.priority(rule_of["run_grid_on_task"])
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["run_grid_on_task"]),
    params:
        **rule_of["run_grid_on_task"].params,
    message:
        rule_of.message(rule_of["run_grid_on_task"])
    script:
        "../scripts/run_grid_on_task.py"


for each in rule_of.of_kind("distill_on_task"):

    rule:
        """Distil a student on a task, stage after stage, and score it: one seed after another."""
        name:
            each.name
        input:
            **each.inputs,
        output:
            **each.outputs,
        log:
            each.log,
        wildcard_constraints:
            **each.constraints,
        priority: rule_of.priority(each)
        conda:
            "../../envs/retort.yaml"
        resources:
            **asked.of(each),
        params:
            **each.params,
        message:
            rule_of.message(each)
        script:
            "../scripts/distill_on_task.py"


rule distill_student:
    """Distil a task-agnostic student on its corpora."""
    input:
        **rule_of["distill_student"].inputs,
    output:
        **rule_of["distill_student"].outputs,
    log:
        rule_of["distill_student"].log,
    wildcard_constraints:
        **rule_of["distill_student"].constraints,
    priority: rule_of.priority(rule_of["distill_student"])
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["distill_student"]),
    params:
        **rule_of["distill_student"].params,
    message:
        rule_of.message(rule_of["distill_student"])
    script:
        "../scripts/distill_student.py"


for each in rule_of.of_kind("distill_together"):

    rule:
        """Distil companions: the teacher makes one pass over a batch for all of them."""
        name:
            each.name
        input:
            **each.inputs,
        output:
            **each.outputs,
        log:
            each.log,
        wildcard_constraints:
            **each.constraints,
        priority: rule_of.priority(each)
        conda:
            "../../envs/retort.yaml"
        resources:
            **asked.of(each),
        params:
            **each.params,
        message:
            rule_of.message(each)
        script:
            "../scripts/distill_student.py"


rule save_student:
    """Keep a task-agnostic student that was distilled, alone or beside others."""
    input:
        **rule_of["save_student"].inputs,
    output:
        **rule_of["save_student"].outputs,
    log:
        rule_of["save_student"].log,
    wildcard_constraints:
        **rule_of["save_student"].constraints,
    priority: rule_of.priority(rule_of["save_student"])
    conda:
        "../../envs/tables.yaml"
    params:
        **rule_of["save_student"].params,
    script:
        "../scripts/save_student.py"
