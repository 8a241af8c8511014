-- Findings of the latest run that the run before did not have, by package or, of files of their own, by path.
-- What was checked only once is left out: there is nothing to compare it with.
WITH artefact AS (
    SELECT run, artefact, coalesce(package || ' ' || architecture, package, path) AS subject, package IS NOT NULL AS is_package
    FROM read_parquet('artefacts/*.parquet', union_by_name = true)
), aged AS (
    SELECT *, dense_rank() OVER (PARTITION BY subject ORDER BY run DESC) AS age FROM artefact
), found AS (
    SELECT aged.subject, aged.age, CASE WHEN is_package THEN coalesce(member, '') ELSE file.path END AS place, file.path,
        within, severity, rule, function, finding.svma, message
    FROM aged
    JOIN read_parquet('files/*.parquet', union_by_name = true) AS file USING (run, artefact)
    JOIN read_parquet('findings/*.parquet', union_by_name = true) AS finding USING (run, file)
    WHERE age <= 2
)
SELECT subject, path, severity, rule, function, svma, message
FROM found
WHERE age = 1
    AND subject IN (SELECT subject FROM aged WHERE age = 2)
    AND NOT EXISTS (
        FROM found AS before
        WHERE before.age = 2 AND before.subject = found.subject AND before.place = found.place AND before.within = found.within
    )
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, subject, path, rule, function, svma;
