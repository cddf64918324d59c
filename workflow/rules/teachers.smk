"""Teachers: fine-tuned on tasks, with a head on corpora, their activations recorded."""


rule finetune_teacher:
    """Fine-tune a teacher on a task under its one seed."""
    input:
        encoded=plan.teacher_encoded,
        model=plan.teacher_model,
        tokenizer=plan.teacher_tokenizer,
    output:
        model=directory("results/teachers/{teacher}/{task}/model"),
        score=plan.teacher_score,
        answers=answers_address(plan.teacher_score),
    log:
        "results/logs/finetune_teacher/{teacher}.{task}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        gpu=needs.gpu,
        gpu_model=needs.gpu_model,
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
        micro_batch=needs.micro_batch,
    params:
        settings=plan.at("teachers/{teacher}/{task}"),
    script:
        "../scripts/finetune_teacher.py"


rule fit_teacher_head:
    """Fit a masked-LM head over the frozen teacher, for students that learn its output distribution."""
    input:
        blocks=plan.teacher_blocks,
        model=plan.teacher_model,
        tokenizer=plan.teacher_tokenizer,
    output:
        directory("results/teachers/{teacher}/{corpus}/model"),
    log:
        "results/logs/fit_teacher_head/{teacher}.{corpus}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        gpu=needs.gpu,
        gpu_model=needs.gpu_model,
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
        micro_batch=needs.micro_batch,
    params:
        settings=plan.at("teacher_heads/{teacher}/{corpus}"),
    script:
        "../scripts/fit_teacher_head.py"


rule record_activations:
    """Run the teacher once over a task's training rows and keep what its students read, until the run ends."""
    input:
        encoded=plan.teacher_encoded,
        teacher=rules.finetune_teacher.output.model,
    output:
        directory("results/activations/{teacher}/{task}"),
    log:
        "results/logs/record_activations/{teacher}.{task}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        gpu=needs.gpu,
        gpu_model=needs.gpu_model,
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
    params:
        settings=plan.at("activations/{teacher}/{task}"),
    script:
        "../scripts/record_activations.py"
