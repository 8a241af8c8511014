-- Who would gain from a higher level: two builds of one package, joined by package, place in it and function's name. Counted
-- are functions that use wide vectors (AVX2, AVX-512, SVE) or bit manipulation (BMI, LZCNT, MOVBE) in the build that needs
-- the higher level, and not in the other one, where no check of the CPU chooses them already.
-- AVX, FMA and F16C are counted apart: with them, what was SSE is encoded anew, scalars among it, and few of these functions are wide.
-- A function that one build has and the other lacks counts, too: a function of the first level is in no table.
-- code_share: the bytes of these functions in the code of the files that need the higher level. run_share: what a profile saw of them, if
-- one was given (deburr check --profile) with the lower build, or else with the higher one. Such packages come first.
WITH file AS (
    SELECT file.run, file.file, file.arch, file.level, file.member, file.decoded_bytes, artefact.package, artefact.version
    FROM read_parquet('artefacts/*.parquet', union_by_name = true) AS artefact
    JOIN read_parquet('files/*.parquet', union_by_name = true) AS file USING (run, artefact)
    WHERE artefact.package IS NOT NULL AND file.error IS NULL
    QUALIFY run = max(run) OVER (PARTITION BY file.file)
), pair AS (
    SELECT high.package, low.version AS low_version, high.version AS high_version, low.level AS low_level, high.level AS high_level,
        high.run AS high_run, high.file AS high_file, low.run AS low_run, low.file AS low_file,
        sum(high.decoded_bytes) OVER (PARTITION BY high.package, low.version, high.version, low.level, high.level) AS code
    FROM file AS high
    JOIN file AS low ON low.package = high.package AND low.member = high.member AND low.arch = high.arch AND low.level < high.level
), use AS (
    SELECT run, file, function, size, share, reach IS NOT NULL AND reach <> 'guarded' AS needed,
        coalesce(array_to_string(map_keys(features), ' '), '') AS names,
        regexp_matches(names, '\b(AVX2|AVX512|FEAT_SVE)') AS wide, regexp_matches(names, '\b(AVX\b|FMA|F16C)') AS avx,
        regexp_matches(names, '\b(BMI|LZCNT|MOVBE)') AS bits
    FROM read_parquet('functions/*.parquet', union_by_name = true)
    WHERE function IS NOT NULL
), function AS (
    SELECT run, file, function, sum(share) AS share, sum(size) FILTER (needed AND (wide OR avx OR bits)) AS size,
        bool_or(wide) AS wide, bool_or(avx) AS avx, bool_or(bits) AS bits,
        bool_or(wide AND needed) AS needs_wide, bool_or(avx AND needed) AS needs_avx, bool_or(bits AND needed) AS needs_bits
    FROM use
    GROUP BY ALL
), gained AS (
    SELECT pair.*, new.function, new.size, coalesce(old.share, new.share) AS share, new.needs_wide AND NOT coalesce(old.wide, false) AS wide,
        new.needs_avx AND NOT coalesce(old.avx, false) AS avx, new.needs_bits AND NOT coalesce(old.bits, false) AS bits
    FROM pair
    JOIN function AS new ON new.run = high_run AND new.file = high_file
    LEFT JOIN function AS old ON old.run = low_run AND old.file = low_file AND old.function = new.function
)
SELECT package, low_version, high_version, low_level, high_level, count(DISTINCT function) FILTER (wide) AS wide_functions,
    count(DISTINCT function) FILTER (bits) AS bit_functions, count(DISTINCT function) FILTER (avx) AS avx_functions,
    round(sum(size) / any_value(code), 4) AS code_share, round(sum(share), 4) AS run_share,
    coalesce(list_sort(list(DISTINCT function) FILTER (wide OR bits)), list_sort(list(DISTINCT function) FILTER (avx)))[1:3] AS examples
FROM gained
WHERE wide OR avx OR bits
GROUP BY ALL
ORDER BY run_share DESC NULLS LAST, wide_functions DESC, bit_functions DESC, avx_functions DESC, package, low_version, high_version;
