from retort.jobs import job

with job(snakemake) as running:
    from retort.settings import TeacherSettings
    from retort.stages.teacher import finetune_teacher
    from retort.training.evaluate import ScoreFiles

    finetune_teacher(
        running,
        settings=TeacherSettings.model_validate(snakemake.params.settings),
        teacher=snakemake.wildcards.teacher,
        task=snakemake.wildcards.task,
        encoded_folder=snakemake.input.encoded,
        model_folder=snakemake.input.model,
        tokenizer_folder=snakemake.input.tokenizer,
        output=snakemake.output.model,
        files=ScoreFiles(snakemake.output.score, snakemake.output.answers),
    )
