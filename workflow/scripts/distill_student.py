from retort.jobs import job

with job(snakemake) as running:
    from retort.models.initialise import StartFolders
    from retort.settings import CorpusDistillationSettings
    from retort.stages.distill import distill_student

    settings = CorpusDistillationSettings.model_validate(snakemake.params.settings)
    distill_student(
        running,
        settings=settings,
        student=snakemake.wildcards.student,
        corpus_folders={name: snakemake.input[name] for name in settings.corpora},
        folders=StartFolders(
            teacher=snakemake.input.teacher,
            model=snakemake.input.model,
            tokenizer=snakemake.input.tokenizer,
            parent=next(iter(snakemake.input.parent), None),
        ),
        output=snakemake.output.model,
    )
