-- How the atomics of AArch64 packages were compiled, by package and year, where it says when it was built: inline
-- load-exclusive/store-exclusive loops, inline LSE, calls of outlined helpers.
-- Each artefact counts as its latest run found it.
WITH artefact AS (
    SELECT run, artefact, coalesce(package, path) AS package, year(built AT TIME ZONE 'UTC') AS built
    FROM read_parquet('artefacts/*.parquet', union_by_name = true)
    QUALIFY run = max(run) OVER (PARTITION BY artefact)
), summed AS (
    SELECT package, built, sum(inline_llsc)::BIGINT AS llsc_loops, sum(inline_lse)::BIGINT AS lse_instructions,
        sum(outlined_calls)::BIGINT AS calls_of_helpers, sum(inline_dispatch + run_time_choice)::BIGINT AS chosen_at_run_time
    FROM artefact JOIN read_parquet('files/*.parquet', union_by_name = true) USING (run, artefact)
    WHERE inline_llsc + inline_lse + outlined_calls > 0
    GROUP BY package, built
)
SELECT *, CASE WHEN llsc_loops > 0 AND lse_instructions + calls_of_helpers = 0 THEN 'LL/SC only' WHEN llsc_loops > 0 THEN 'mixed'
    WHEN calls_of_helpers > 0 THEN 'outlined' ELSE 'LSE' END AS class
FROM summed
ORDER BY llsc_loops DESC, package, built;
