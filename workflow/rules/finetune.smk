"""Fine-tuning of task-agnostic students: the grid in parts, then a job a seed."""


rule run_grid:
    """Train one part of the grid and note each point's metric on dev."""
    input:
        student=rules.distill_student.output.model,
        encoded=plan.student_encoded,
    output:
        "results/trials/{student}/{task}/{part}-of-{parts}.jsonl",
    log:
        "results/logs/run_grid/{student}.{task}.{part}-of-{parts}.log",
    wildcard_constraints:
        part=r"\d+",
        parts=r"\d+",
    conda:
        "../../envs/retort.yaml"
    resources:
        gpu=needs.gpu,
        gpu_model=needs.gpu_model,
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
        micro_batch=needs.micro_batch,
    params:
        settings=plan.at("grids/{student}/{task}"),
    script:
        "../scripts/run_grid.py"


rule finetune_student:
    """Train the chosen grid point once more, under one seed."""
    input:
        student=rules.distill_student.output.model,
        encoded=plan.student_encoded,
        trials=plan.grid_parts,
    output:
        score="results/scores/{student}/{task}/seed-{seed}.json",
        answers="results/scores/{student}/{task}/seed-{seed}.answers.json",
        weights=plan.kept("results/students/{student}/{task}/seed-{seed}"),
    log:
        "results/logs/finetune_student/{student}.{task}.{seed}.log",
    wildcard_constraints:
        student=plan.pattern(plan.task_agnostic),
    conda:
        "../../envs/retort.yaml"
    resources:
        gpu=needs.gpu,
        gpu_model=needs.gpu_model,
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
        micro_batch=needs.micro_batch,
        reads_weights=weights.read,
    params:
        settings=plan.at("finetunings/{student}/{task}"),
    script:
        "../scripts/finetune_student.py"
