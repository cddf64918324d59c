"""Answers on test sets without labels, as the zip that the GLUE server takes; for tables at scale paper, else when asked for by name."""


rule encode_test:
    """Read and tokenise the test sets of a task, once for each tokenizer."""
    input:
        sources=reads.sources_of_test_sets,
        tokenizer=reads.files_of_tokenizer,
    output:
        folder=directory("results/test_sets/{task}/{tokenizer}"),
    log:
        "results/logs/encode_test/{task}.{tokenizer}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("encode_test"),
    params:
        settings=settings("test_sets", "tokenizer", "task"),
    script:
        "../scripts/encode_task.py"


rule predict_test:
    """Run a fine-tuned model over a task's test sets."""
    input:
        encoded=reads.encoded_test_sets,
        weights=reads.finetuned_weights,
    output:
        answers="results/answers/{student}/seed-{seed}/{task}.json",
    log:
        "results/logs/predict_test/{student}.{seed}.{task}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("predict_test"),
    params:
        settings=settings("predictions", "task"),
    script:
        "../scripts/predict_test.py"


rule write_submission:
    """Put a model's answers on all test sets into one zip."""
    input:
        answers=reads.answers_to_send,
    output:
        zip="reports/submissions/{student}/seed-{seed}.zip",
    log:
        "results/logs/write_submission/{student}.{seed}.log",
    conda:
        "../../envs/tables.yaml"
    params:
        settings=settings("submission"),
    script:
        "../scripts/write_submission.py"
