-- The packages, and files of their own, with the most findings: the severest first.
-- Each artefact counts as its latest run found it.
WITH artefact AS (
    SELECT * FROM read_parquet('artefacts/*.parquet', union_by_name = true)
    QUALIFY run = max(run) OVER (PARTITION BY artefact)
), file AS (
    SELECT * FROM read_parquet('files/*.parquet', union_by_name = true)
), finding AS (
    SELECT run, file, count(*) FILTER (severity = 'error') AS errors, count(*) FILTER (severity = 'warning') AS warnings,
        count(*) FILTER (severity = 'note') AS notes, count(*) FILTER (severity <> 'note' AND in_loop) AS in_loops
    FROM read_parquet('findings/*.parquet', union_by_name = true) GROUP BY ALL
)
SELECT coalesce(artefact.package, artefact.path) AS package, artefact.version, artefact.architecture,
    count(*) FILTER (file.error IS NULL) AS files, coalesce(sum(errors), 0)::BIGINT AS errors,
    coalesce(sum(warnings), 0)::BIGINT AS warnings, coalesce(sum(notes), 0)::BIGINT AS notes,
    coalesce(sum(in_loops), 0)::BIGINT AS in_loops
FROM artefact JOIN file USING (run, artefact) LEFT JOIN finding USING (run, file)
GROUP BY ALL HAVING errors + warnings + notes > 0
ORDER BY errors DESC, warnings DESC, notes DESC, package, version, architecture
LIMIT 50;
