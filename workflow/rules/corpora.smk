"""Sources, encoded tasks, packed corpora."""


rule fetch_source:
    """Download an archive or a commit of the hub and check it, or link a folder."""
    output:
        directory("results/sources/{source}"),
    log:
        "results/logs/fetch_source/{source}.log",
    wildcard_constraints:
        source=plan.pattern(plan.fetched),
    conda:
        "../../envs/tables.yaml"
    params:
        settings=plan.at("sources/{source}"),
    script:
        "../scripts/fetch_source.py"


rule make_source:
    """Make a source's files from a seed, in their original formats; only a scale in miniature has such sources."""
    output:
        directory("results/sources/{source}"),
    log:
        "results/logs/make_source/{source}.log",
    wildcard_constraints:
        source=plan.pattern(plan.made),
    conda:
        "../../envs/retort.yaml"
    resources:
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
    params:
        settings=plan.at("sources/{source}"),
    script:
        "../scripts/make_source.py"


rule encode_task:
    """Read, split and tokenise a task, once for each tokenizer."""
    input:
        source=plan.task_source,
        tokenizer=plan.tokenizer_folder,
    output:
        directory("results/encoded/{task}/{tokenizer}"),
    log:
        "results/logs/encode_task/{task}.{tokenizer}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
    params:
        settings=plan.at("tasks/{tokenizer}/{task}"),
    script:
        "../scripts/encode_task.py"


rule tokenize_corpus:
    """Clean and tokenise one part of the texts of a corpus."""
    input:
        sources=plan.corpus_sources,
        tokenizer=plan.tokenizer_folder,
    output:
        temp(directory("results/tokenized/{corpus}/{tokenizer}/{part}-of-{parts}")),
    log:
        "results/logs/tokenize_corpus/{corpus}.{tokenizer}.{part}-of-{parts}.log",
    wildcard_constraints:
        part=r"\d+",
        parts=r"\d+",
    conda:
        "../../envs/retort.yaml"
    resources:
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
    params:
        settings=plan.at("corpora/{tokenizer}/{corpus}"),
    script:
        "../scripts/tokenize_corpus.py"


rule build_corpus:
    """Pack the tokenised texts of a corpus into blocks for task-agnostic distillation."""
    input:
        sources=plan.corpus_sources,
        tokenizer=plan.tokenizer_folder,
        parts=plan.corpus_parts,
    output:
        directory("results/corpora/{corpus}/{tokenizer}"),
    log:
        "results/logs/build_corpus/{corpus}.{tokenizer}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        runtime=needs.runtime,
        mem_mb=needs.mem_mb,
    params:
        settings=plan.at("corpora/{tokenizer}/{corpus}"),
    script:
        "../scripts/build_corpus.py"
