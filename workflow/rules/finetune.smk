"""Fine-tuning of task-agnostic students: the grid in parts, then all seeds in a job."""


rule run_grid:
    """Train one part of the grid and note each point's metric on dev."""
    input:
        student="results/students/{student}/model",
        encoded=reads.encoded_task,
    output:
        trials="results/trials/{student}/{task}/{part}-of-{parts}.jsonl",
    log:
        "results/logs/run_grid/{student}.{task}.{part}.{parts}.log",
    wildcard_constraints:
        student=plan.alone(plan.task_agnostic),
    priority: priority("run_grid")
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("run_grid"),
    params:
        settings=settings("grids", "student", "task"),
    script:
        "../scripts/run_grid.py"


rule finetune_student:
    """Train the chosen grid point once more, under one seed after another."""
    input:
        student="results/students/{student}/model",
        encoded=reads.encoded_task,
        trials=reads.grid,
    output:
        scores="results/scores/{student}/{task}/{seeds}.json",
        answers="results/scores/{student}/{task}/{seeds}.answers.json",
        weights=kept("results/students/{student}/{task}/{seeds}"),
    log:
        "results/logs/finetune_student/{student}.{task}.{seeds}.log",
    wildcard_constraints:
        student=plan.alone(plan.task_agnostic),
    priority: priority("finetune_student")
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("finetune_student"),
    params:
        settings=settings("finetunings", "student", "task"),
        reads_weights=plan.reads_weights,
    script:
        "../scripts/finetune_student.py"
