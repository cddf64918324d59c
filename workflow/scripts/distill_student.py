from retort.jobs import job

with job(snakemake) as running:
    from retort.settings import CorpusDistillationSettings
    from retort.stages.distill import distill_student

    settings = CorpusDistillationSettings.model_validate(snakemake.params.settings)
    distill_student(
        running,
        settings=settings,
        student=snakemake.wildcards.student,
        corpus_folders={name: snakemake.input[name] for name in settings.corpora},
        teacher_folder=snakemake.input.teacher,
        model_folder=snakemake.input.model,
        parent_folder=next(iter(snakemake.input.parent), None),
        output=snakemake.output.model,
    )
