"""Answers on test sets without labels, as the zip that the GLUE server takes; for tables at scale paper, else when asked for by name."""

from retort.plan.submissions import Submit

submit = Submit(plan)


rule encode_test:
    """Read and tokenise the test sets of a task, once for each tokenizer."""
    input:
        source=submit.sources,
        tokenizer=plan.tokenizer_folder,
    output:
        directory("results/test_sets/{task}/{tokenizer}"),
    log:
        "results/logs/encode_test/{task}.{tokenizer}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
    params:
        settings=plan.at("test_sets/{tokenizer}/{task}"),
    script:
        "../scripts/encode_task.py"


rule predict_test:
    """Run a fine-tuned model over a task's test sets."""
    input:
        encoded=submit.test_sets,
        weights=submit.weights,
    output:
        "results/answers/{student}/seed-{seed}/{task}.json",
    log:
        "results/logs/predict_test/{student}.{task}.{seed}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        gpu=needs.gpu,
        gpu_model=needs.gpu_model,
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
    params:
        settings=plan.at("predictions/{task}"),
    script:
        "../scripts/predict_test.py"


rule write_submission:
    """Put a model's answers on all test sets into one zip."""
    input:
        answers=submit.answers,
    output:
        "reports/submissions/{student}/seed-{seed}.zip",
    log:
        "results/logs/write_submission/{student}.{seed}.log",
    conda:
        "../../envs/tables.yaml"
    params:
        settings=plan.at("submission"),
    script:
        "../scripts/write_submission.py"
