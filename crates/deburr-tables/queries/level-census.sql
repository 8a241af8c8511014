-- How many files need which level, how many of them use more after checks of the CPU, and how many are unknown in part.
-- Each artefact counts as its latest run found it.
WITH artefact AS (
    SELECT run, artefact FROM read_parquet('artefacts/*.parquet', union_by_name = true)
    QUALIFY run = max(run) OVER (PARTITION BY artefact)
), counted AS (
    SELECT arch, level, count(*) AS files, count(*) FILTER (level_guarded IS NOT NULL) AS with_checks,
        count(*) FILTER (not_followed > 0) AS unknown_in_part, count(DISTINCT artefact) AS artefacts
    FROM artefact JOIN read_parquet('files/*.parquet', union_by_name = true) USING (run, artefact)
    WHERE error IS NULL
    GROUP BY arch, level
)
SELECT *, round(100.0 * files / sum(files) OVER (PARTITION BY arch), 1) AS percent
FROM counted
ORDER BY arch, level;
