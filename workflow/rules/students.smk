"""Students: task-specific (distilled on the task itself) and task-agnostic (distilled once on a corpus)."""

from retort.plan.weights import Weights

weights = Weights(plan)


rule distill_on_task:
    """Distil a student on a task, stage after stage, and score it."""
    input:
        encoded=plan.student_encoded,
        teacher=plan.student_teacher,
        model=plan.student_model,
        tokenizer=plan.student_tokenizer,
        parent=plan.student_parent,
        activations=plan.student_activations,
    output:
        score="results/scores/{student}/{task}/seed-{seed}.json",
        answers="results/scores/{student}/{task}/seed-{seed}.answers.json",
        weights=plan.kept("results/students/{student}/{task}/seed-{seed}"),
    log:
        "results/logs/distill_on_task/{student}.{task}.{seed}.log",
    wildcard_constraints:
        student=plan.pattern(plan.task_specific),
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
        settings=plan.at("distillations/{student}/{task}"),
    script:
        "../scripts/distill_on_task.py"


rule distill_together:
    """Distil students of one teacher side by side, each up to the last checkpoint of its `distill_student`."""
    input:
        unpack(companions.corpora),
        teacher=companions.teacher,
        model=companions.model,
        tokenizer=companions.tokenizer,
        parents=companions.parents,
    output:
        temp("results/together/{companions}.done"),
    log:
        "results/logs/distill_together/{companions}.log",
    wildcard_constraints:
        companions=r"[A-Za-z0-9-]+\.\d+",
    conda:
        "../../envs/retort.yaml"
    resources:
        gpu=needs.gpu,
        gpu_model=needs.gpu_model,
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
        micro_batch=needs.micro_batch,
    params:
        settings=companions.settings,
        parents=companions.parent_of_each,
    script:
        "../scripts/distill_together.py"


rule distill_student:
    """Distil a task-agnostic student on its corpora."""
    input:
        unpack(plan.student_corpora),
        teacher=plan.student_teacher_head,
        model=plan.student_model,
        tokenizer=plan.student_tokenizer,
        parent=plan.student_parent,
        companions=companions.before,
    output:
        model=directory("results/students/{student}/model"),
    log:
        "results/logs/distill_student/{student}.log",
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
        only_saves=needs.only_saves,
    params:
        settings=plan.at("students/{student}"),
    script:
        "../scripts/distill_student.py"
