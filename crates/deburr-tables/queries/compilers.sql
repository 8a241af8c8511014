-- The compilers in use: files that each made, or made a part of, their packages, and warnings and errors in them.
-- Each artefact counts as its latest run found it.
WITH artefact AS (
    SELECT run, artefact, coalesce(package, path) AS package FROM read_parquet('artefacts/*.parquet', union_by_name = true)
    QUALIFY run = max(run) OVER (PARTITION BY artefact)
), finding AS (
    SELECT run, file, count(*) AS findings FROM read_parquet('findings/*.parquet', union_by_name = true)
    WHERE severity <> 'note' GROUP BY ALL
), made AS (
    SELECT arch, package, file, findings, unnest(CASE WHEN len(compilers) > 0 THEN compilers ELSE ['(not said)'] END) AS compiler
    FROM artefact JOIN read_parquet('files/*.parquet', union_by_name = true) USING (run, artefact)
    LEFT JOIN finding USING (run, file)
    WHERE error IS NULL
)
SELECT arch, compiler, count(DISTINCT file) AS files, count(DISTINCT package) AS packages,
    coalesce(sum(findings), 0)::BIGINT AS findings
FROM made
-- Linkers sign next to compilers.
WHERE compiler NOT LIKE 'Linker: %'
GROUP BY ALL
ORDER BY files DESC, arch, compiler;
