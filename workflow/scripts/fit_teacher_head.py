from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import TeacherHeadSettings
    from retort.training.stages.teacher import fit_teacher_head

    fit_teacher_head(
        running,
        settings=TeacherHeadSettings.model_validate(snakemake.params.settings),
        teacher=snakemake.wildcards.teacher,
        corpus=snakemake.wildcards.corpus,
        corpus_folder=snakemake.input.blocks,
        model_folder=snakemake.input.model,
        tokenizer_folder=snakemake.input.tokenizer,
        output=snakemake.output[0],
    )
