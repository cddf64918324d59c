"""Fine-tuning of task-agnostic students: the grid in parts, then all seeds in a job."""


rule run_grid:
    """Train one part of the grid and note each point's metric on dev."""
    input:
        **rule_of["run_grid"].inputs,
    output:
        **rule_of["run_grid"].outputs,
    log:
        rule_of["run_grid"].log,
    wildcard_constraints:
        **rule_of["run_grid"].constraints,
    priority: rule_of.priority(rule_of["run_grid"])
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["run_grid"]),
    params:
        **rule_of["run_grid"].params,
    message:
        rule_of.message(rule_of["run_grid"])
    script:
        "../scripts/run_grid.py"


for each in rule_of.of_kind("finetune_student"):

    rule:
        """Train the chosen grid point once more, under one seed after another."""
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
            "../scripts/finetune_student.py"
