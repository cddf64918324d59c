from retort.jobs import job, weights_folder

with job(snakemake) as running:
    from retort.settings import FinetuneSettings
    from retort.stages.finetune import finetune_student
    from retort.training.evaluate import ScoreFiles

    finetune_student(
        running,
        settings=FinetuneSettings.model_validate(snakemake.params.settings),
        student=snakemake.wildcards.student,
        task=snakemake.wildcards.task,
        seed=int(snakemake.wildcards.seed),
        student_folder=snakemake.input.student,
        encoded_folder=snakemake.input.encoded,
        trials_files=list(snakemake.input.trials),
        files=ScoreFiles(snakemake.output.score, snakemake.output.answers),
        weights_folder=weights_folder(snakemake),
    )
