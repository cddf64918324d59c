"""Teachers: fine-tuned on tasks, with a head on corpora, their activations stored for students."""


rule run_grid_of_teacher:
    """Fine-tune a teacher at each point of one part of its grid and note its metric on dev."""
    input:
        encoded=reads.encoded_task,
        model=reads.released_model,
        tokenizer=reads.tokenizer,
    output:
        trials="results/trials/{teacher}/{task}/{part}-of-{parts}.jsonl",
    log:
        "results/logs/run_grid_of_teacher/{teacher}.{task}.{part}.{parts}.log",
    wildcard_constraints:
        teacher=plan.alone(plan.study.teachers),
    priority: priority("run_grid_of_teacher")
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("run_grid_of_teacher"),
    params:
        settings=settings("teachers", "teacher", "task"),
    script:
        "../scripts/run_grid_of_teacher.py"


rule finetune_teacher:
    """Fine-tune a teacher on a task under its one seed."""
    input:
        encoded=reads.encoded_task,
        model=reads.released_model,
        tokenizer=reads.tokenizer,
        trials=reads.grid,
    output:
        scores="results/scores/{teacher}/{task}/{seeds}.json",
        answers="results/scores/{teacher}/{task}/{seeds}.answers.json",
        model=directory("results/teachers/{teacher}/{task}/{seeds}"),
    log:
        "results/logs/finetune_teacher/{teacher}.{task}.{seeds}.log",
    wildcard_constraints:
        teacher=plan.alone(plan.study.teachers),
        seeds=r"\d+",
    priority: priority("finetune_teacher")
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("finetune_teacher"),
    params:
        settings=settings("teachers", "teacher", "task"),
    script:
        "../scripts/finetune_teacher.py"


rule fit_teacher_head:
    """Fit a masked-LM head over the frozen teacher, for students that learn its output distribution."""
    input:
        blocks=reads.blocks_of_teacher,
        model=reads.released_model,
        tokenizer=reads.tokenizer,
    output:
        model=directory("results/teachers/{teacher}/{corpus}/model"),
    log:
        "results/logs/fit_teacher_head/{teacher}.{corpus}.log",
    wildcard_constraints:
        teacher=plan.alone(plan.study.teachers),
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("fit_teacher_head"),
    params:
        settings=settings("teacher_heads", "teacher", "corpus"),
    script:
        "../scripts/fit_teacher_head.py"


rule record_activations:
    """Run a teacher once over the training rows of a task, and store what its students read until they are trained."""
    input:
        encoded=reads.encoded_task,
        teacher=reads.teacher_on_task,
    output:
        folder=temp(directory("results/activations/{teacher}/{task}/{number}")),
    log:
        "results/logs/record_activations/{teacher}.{task}.{number}.log",
    wildcard_constraints:
        teacher=plan.alone(plan.study.teachers),
        number=r"\d+",
    priority: priority("record_activations")
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("record_activations"),
    params:
        settings=settings_of_activations(plan),
    script:
        "../scripts/record_activations.py"
