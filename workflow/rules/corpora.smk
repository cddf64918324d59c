"""Sources, encoded tasks, sets of training rows, packed corpora."""


rule fetch_source:
    """Download an archive or a commit of the hub and check it, or link a folder."""
    input:
        **rule_of["fetch_source"].inputs,
    output:
        **rule_of["fetch_source"].outputs,
    log:
        rule_of["fetch_source"].log,
    wildcard_constraints:
        **rule_of["fetch_source"].constraints,
    conda:
        "../../envs/tables.yaml"
    params:
        **rule_of["fetch_source"].params,
    script:
        "../scripts/fetch_source.py"


rule make_source:
    """Make a source's files from a seed, in their original formats; only a scale in miniature has such sources."""
    input:
        **rule_of["make_source"].inputs,
    output:
        **rule_of["make_source"].outputs,
    log:
        rule_of["make_source"].log,
    wildcard_constraints:
        **rule_of["make_source"].constraints,
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["make_source"]),
    params:
        **rule_of["make_source"].params,
    script:
        "../scripts/make_source.py"


rule encode_task:
    """Read, split and tokenise a task, once for each tokenizer."""
    input:
        **rule_of["encode_task"].inputs,
    output:
        **rule_of["encode_task"].outputs,
    log:
        rule_of["encode_task"].log,
    wildcard_constraints:
        **rule_of["encode_task"].constraints,
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["encode_task"]),
    params:
        **rule_of["encode_task"].params,
    script:
        "../scripts/encode_task.py"


rule tokenize_corpus:
    """Clean and tokenise one part of the texts of a corpus."""
    input:
        **rule_of["tokenize_corpus"].inputs,
    output:
        **rule_of["tokenize_corpus"].outputs,
    log:
        rule_of["tokenize_corpus"].log,
    wildcard_constraints:
        **rule_of["tokenize_corpus"].constraints,
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["tokenize_corpus"]),
    params:
        **rule_of["tokenize_corpus"].params,
    script:
        "../scripts/tokenize_corpus.py"


rule build_corpus:
    """Pack the tokenised texts of a corpus into blocks for task-agnostic distillation."""
    input:
        **rule_of["build_corpus"].inputs,
    output:
        **rule_of["build_corpus"].outputs,
    log:
        rule_of["build_corpus"].log,
    wildcard_constraints:
        **rule_of["build_corpus"].constraints,
    conda:
        "../../envs/retort.yaml"
    resources:
        **asked.of(rule_of["build_corpus"]),
    params:
        **rule_of["build_corpus"].params,
    script:
        "../scripts/build_corpus.py"
