from pathlib import Path

from retort.job.context import job

with job(snakemake) as running:
    from retort.cost.bench.gpu import lines

    for line in lines(running.device, Path(snakemake.output.measured)):
        running.say(line)
