from retort.job.script import job

with job(snakemake) as running:
    from retort.settings.trainings import TeacherSettings
    from retort.training.evaluate import ScoreToWrite
    from retort.training.stages.teacher import finetune_teacher

    of, made = snakemake.wildcards, snakemake.output
    settings = TeacherSettings.model_validate(snakemake.params.settings)
    finetune_teacher(
        running,
        settings,
        score=ScoreToWrite(of.teacher, of.task, settings.seed, made.score, made.answers),
        encoded_folder=snakemake.input.encoded,
        model_folder=snakemake.input.model,
        tokenizer_folder=snakemake.input.tokenizer,
        trials_files=list(snakemake.input.trials),
        output=made.model,
    )
