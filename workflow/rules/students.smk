"""Students: task-specific (distilled on the task itself) and task-agnostic (distilled once on a corpus)."""


rule run_grid_on_task:
    """Distil a student on a task at each point of one part of its grid and note its metric on dev."""
    input:
        encoded=reads.encoded_task,
        teacher=reads.finetuned_teacher,
        model=reads.released_model,
        tokenizer=reads.tokenizer,
        parent=reads.parent,
        activations=reads.activations_of_grid,
    output:
        trials="results/trials/{student}/{task}/{part}-of-{parts}.jsonl",
    log:
        "results/logs/run_grid_on_task/{student}.{task}.{part}.{parts}.log",
    wildcard_constraints:
        student=plan.alone(plan.task_specific),
    priority: priority("run_grid_on_task")
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("run_grid_on_task"),
    params:
        settings=settings("distillations", "student", "task"),
    script:
        "../scripts/run_grid_on_task.py"


rule distill_on_task:
    """Distil a student on a task, stage after stage, and score it: one seed after another."""
    input:
        encoded=reads.encoded_task,
        teacher=reads.finetuned_teacher,
        model=reads.released_model,
        tokenizer=reads.tokenizer,
        parent=reads.parent,
        activations=reads.activations_of_seeds,
        trials=reads.grid,
    output:
        scores="results/scores/{student}/{task}/{seeds}.json",
        answers="results/scores/{student}/{task}/{seeds}.answers.json",
        weights=kept("results/students/{student}/{task}/{seeds}"),
    log:
        "results/logs/distill_on_task/{student}.{task}.{seeds}.log",
    wildcard_constraints:
        student=plan.alone(plan.task_specific),
    priority: priority("distill_on_task")
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("distill_on_task"),
    params:
        settings=settings("distillations", "student", "task"),
        reads_weights=plan.reads_weights,
    script:
        "../scripts/distill_on_task.py"


rule distill_students:
    """Distil a student on its corpora, or several side by side: one pass of the teacher over a batch is for all."""
    input:
        corpora=reads.blocks_of_group,
        teacher=reads.teacher_of_group,
        model=reads.released_model_of_group,
        tokenizer=reads.tokenizer_of_group,
        parent=reads.parent_of_group,
    output:
        folder=temp(directory("results/distilled/{group}")),
    log:
        "results/logs/distill_students/{group}.log",
    priority: priority("distill_students")
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("distill_students"),
    params:
        settings=settings_of_group(plan),
    script:
        "../scripts/distill_students.py"


rule save_student:
    """Keep a student of a group; finished students keep their group, so that other companions change nothing."""
    input:
        folder=reads.distilled_group,
    output:
        model=directory("results/students/{student}/model"),
    log:
        "results/logs/save_student/{student}.log",
    wildcard_constraints:
        student=plan.alone(plan.task_agnostic),
    priority: priority("save_student")
    conda:
        "../../envs/tables.yaml"
    params:
        settings=settings("students", "student"),
    script:
        "../scripts/save_student.py"
