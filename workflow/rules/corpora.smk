"""Sources, encoded tasks, sets of training rows, packed corpora."""

made_sources = [
    name for name, source in plan.study.sources.items() if source.location(plan.config) == "made"
]


rule fetch_source:
    """Download an archive or a commit of the hub and check it, or link a folder."""
    output:
        folder=directory("results/sources/{source}"),
    log:
        "results/logs/fetch_source/{source}.log",
    wildcard_constraints:
        source=one_of(plan.study.sources.keys() - made_sources),
    priority: priority("fetch_source")
    conda:
        "../../envs/tables.yaml"
    params:
        settings=settings("sources", "source"),
    script:
        "../scripts/fetch_source.py"


rule make_source:
    """Make a source's files from a seed, in their original formats; only a scale in miniature has such sources."""
    output:
        folder=directory("results/sources/{source}"),
    log:
        "results/logs/make_source/{source}.log",
    wildcard_constraints:
        source=one_of(made_sources),
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("make_source"),
    params:
        settings=settings("sources", "source"),
    script:
        "../scripts/make_source.py"


rule encode_task:
    """Read, split and tokenise a task, once for each tokenizer."""
    input:
        sources=reads.sources_of_task,
        tokenizer=reads.files_of_tokenizer,
    output:
        folder=directory("results/encoded/{task}/{tokenizer}"),
    log:
        "results/logs/encode_task/{task}.{tokenizer}.log",
    priority: priority("encode_task")
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("encode_task"),
    params:
        settings=settings("tasks", "tokenizer", "task"),
    script:
        "../scripts/encode_task.py"


rule tokenize_corpus:
    """Clean and tokenise one part of the texts of a corpus."""
    input:
        sources=reads.sources_of_corpus,
        tokenizer=reads.files_of_tokenizer,
    output:
        folder=temp(directory("results/tokenized/{corpus}/{tokenizer}/{part}-of-{parts}")),
    log:
        "results/logs/tokenize_corpus/{corpus}.{tokenizer}.{part}.{parts}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("tokenize_corpus"),
    params:
        settings=settings("corpora", "tokenizer", "corpus"),
    script:
        "../scripts/tokenize_corpus.py"


rule build_corpus:
    """Pack the tokenised texts of a corpus into blocks for task-agnostic distillation."""
    input:
        sources=reads.sources_of_corpus,
        tokenizer=reads.files_of_tokenizer,
        parts=reads.tokenized_parts,
    output:
        folder=directory("results/corpora/{corpus}/{tokenizer}"),
    log:
        "results/logs/build_corpus/{corpus}.{tokenizer}.log",
    conda:
        "../../envs/retort.yaml"
    resources:
        **asks("build_corpus"),
    params:
        settings=settings("corpora", "tokenizer", "corpus"),
    script:
        "../scripts/build_corpus.py"
