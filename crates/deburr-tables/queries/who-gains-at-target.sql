-- Who would gain from the target of a run: one build of each package, and its functions with findings that building for the target
-- removes. The target is that of deburr check --target, or deburr scan --target. Atomics: outlined helpers, load-exclusive/store-exclusive loops and
-- compare-and-swap loops. Chosen: small functions chosen at run time for an instruction that the target has. By hand: CRC-32 and
-- population counts without the instruction. Narrow: loops on half of the target's vectors, which only --preview finds.
-- run_share: what a profile saw at these places, if one was given. Such packages come first. The latest run of each file counts.
WITH file AS (
    SELECT file.run, file.file, artefact.package, artefact.version, artefact.architecture
    FROM read_parquet('artefacts/*.parquet', union_by_name = true) AS artefact
    JOIN read_parquet('files/*.parquet', union_by_name = true) AS file USING (run, artefact)
    WHERE artefact.package IS NOT NULL AND file.error IS NULL
    QUALIFY run = max(run) OVER (PARTITION BY file.file)
), finding AS (
    SELECT run, file, function_svma AS place, coalesce(function, near, svma) AS function, share, CASE
        WHEN rule IN ('outlined-atomic', 'llsc-loop', 'llsc-pair', 'cas-for-rmw') THEN 'atomics'
        WHEN rule = 'dispatched-leaf' THEN 'chosen'
        WHEN rule IN ('software-crc', 'software-popcount') THEN 'by hand'
        WHEN rule = 'narrow-vectors' THEN 'narrow'
        END AS kind
    FROM read_parquet('findings/*.parquet', union_by_name = true)
    WHERE severity <> 'note' OR rule = 'narrow-vectors'
)
SELECT package, version, architecture, count(DISTINCT (file, place)) FILTER (kind = 'atomics') AS atomics_functions,
    count(DISTINCT (file, place)) FILTER (kind = 'chosen') AS chosen_functions,
    count(DISTINCT (file, place)) FILTER (kind = 'by hand') AS by_hand_functions,
    count(DISTINCT (file, place)) FILTER (kind = 'narrow') AS narrow_functions, round(sum(share), 4) AS run_share,
    list_sort(list(DISTINCT function))[1:3] AS examples
FROM file JOIN finding USING (run, file)
WHERE kind IS NOT NULL
GROUP BY package, version, architecture
ORDER BY run_share DESC NULLS LAST, atomics_functions + chosen_functions + by_hand_functions + narrow_functions DESC, package, version, architecture;
