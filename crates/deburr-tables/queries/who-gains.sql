-- Who would gain from a higher level: two builds of one package, joined by package, place in it and function's name. Counted
-- are functions that use wide vectors (AVX2, AVX-512, SVE) or bit manipulation (BMI, LZCNT, MOVBE) in the build that needs
-- the higher level, and not in the other one, where no check of the CPU chooses them already.
-- AVX, FMA and F16C are counted apart: with them, what was SSE is encoded anew, scalars among it, and few of these functions are wide.
-- A function that one build has and the other lacks counts, too: a function of the first level is in no table.
WITH file AS (
    SELECT file.run, file.file, file.arch, file.level, file.member, artefact.package, artefact.version
    FROM read_parquet('artefacts/*.parquet', union_by_name = true) AS artefact
    JOIN read_parquet('files/*.parquet', union_by_name = true) AS file USING (run, artefact)
    WHERE artefact.package IS NOT NULL AND file.error IS NULL
    QUALIFY run = max(run) OVER (PARTITION BY file.file)
), function AS (
    SELECT run, file, function, reach, regexp_matches(array_to_string(map_keys(features), ' '), '\b(AVX2|AVX512|FEAT_SVE)') AS wide,
        regexp_matches(array_to_string(map_keys(features), ' '), '\b(AVX\b|FMA|F16C)') AS avx,
        regexp_matches(array_to_string(map_keys(features), ' '), '\b(BMI|LZCNT|MOVBE)') AS bits
    FROM read_parquet('functions/*.parquet', union_by_name = true)
    WHERE function IS NOT NULL AND reach IS NOT NULL
), gained AS (
    SELECT high.package, low.version AS low_version, high.version AS high_version, low.level AS low_level,
        high.level AS high_level, new.function, new.wide AND NOT coalesce(old.wide, false) AS wide,
        new.avx AND NOT coalesce(old.avx, false) AS avx,
        new.bits AND NOT coalesce(old.bits, false) AS bits
    FROM file AS high
    JOIN file AS low ON low.package = high.package AND low.member = high.member AND low.arch = high.arch AND low.level < high.level
    JOIN function AS new ON new.run = high.run AND new.file = high.file AND new.reach <> 'guarded'
    LEFT JOIN function AS old ON old.run = low.run AND old.file = low.file AND old.function = new.function
)
SELECT package, low_version, high_version, low_level, high_level, count(DISTINCT function) FILTER (wide) AS wide_functions,
    count(DISTINCT function) FILTER (bits) AS bit_functions, count(DISTINCT function) FILTER (avx) AS avx_functions,
    coalesce(list_sort(list(DISTINCT function) FILTER (wide OR bits)), list_sort(list(DISTINCT function) FILTER (avx)))[1:3] AS examples
FROM gained
GROUP BY ALL HAVING count(*) FILTER (wide OR avx OR bits) > 0
ORDER BY wide_functions DESC, bit_functions DESC, avx_functions DESC, package, low_version, high_version;
