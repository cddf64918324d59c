"""Answers on test sets without labels, as the zip that the GLUE server takes; for tables at scale paper, else when asked for by name."""


rule encode_test:
    """Read and tokenise the test sets of a task, once for each tokenizer."""
    input:
        **rule_of["encode_test"].inputs,
    output:
        **rule_of["encode_test"].outputs,
    log:
        rule_of["encode_test"].log,
    wildcard_constraints:
        **rule_of["encode_test"].constraints,
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["encode_test"]),
    params:
        **rule_of["encode_test"].params,
    script:
        "../scripts/encode_task.py"


rule predict_test:
    """Run a fine-tuned model over a task's test sets."""
    input:
        **rule_of["predict_test"].inputs,
    output:
        **rule_of["predict_test"].outputs,
    log:
        rule_of["predict_test"].log,
    wildcard_constraints:
        **rule_of["predict_test"].constraints,
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["predict_test"]),
    params:
        **rule_of["predict_test"].params,
    message:
        rule_of.message(rule_of["predict_test"])
    script:
        "../scripts/predict_test.py"


rule write_submission:
    """Put a model's answers on all test sets into one zip."""
    input:
        **rule_of["write_submission"].inputs,
    output:
        **rule_of["write_submission"].outputs,
    log:
        rule_of["write_submission"].log,
    wildcard_constraints:
        **rule_of["write_submission"].constraints,
    conda:
        "../../envs/tables.yaml"
    params:
        **rule_of["write_submission"].params,
    script:
        "../scripts/write_submission.py"
