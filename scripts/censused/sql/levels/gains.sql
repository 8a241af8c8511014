-- What the build for x86-64-v3 has that the one for x86-64 has not, by project: functions with vectors of 256 bits where there were narrower ones
-- or none, and functions with bit manipulation (BMI1, BMI2, LZCNT, MOVBE) where there was none; their share of the code that is not data.
-- What the lower build already chooses at run time is counted next to it, and is no gain.
WITH whole AS (
    SELECT package, any_value(version) AS version, count(*) AS files, sum(functions)::BIGINT AS functions, sum(decoded_bytes)::BIGINT AS code_bytes, max(level) AS level
    FROM file WHERE build = 'v3' GROUP BY package
), chosen AS (
    SELECT package, count(*) FILTER (reach = 'guarded') AS chosen
    FROM file JOIN read_parquet('functions/*.parquet', union_by_name = true) AS function ON function.run = file.run AND function.file = file.file
    WHERE build = 'v1' GROUP BY package
), counted AS (
    SELECT package, count(*) FILTER (wide) AS wide_functions, count(*) FILTER (arithmetic) AS arithmetic_functions, count(*) FILTER (bits) AS bit_functions,
        count(*) AS gained_functions, coalesce(sum(size) FILTER (wide), 0)::BIGINT AS wide_bytes, sum(size)::BIGINT AS gained_bytes
    FROM gained GROUP BY package
)
SELECT whole.*, coalesce(chosen, 0) AS chosen_at_run_time, coalesce(wide_functions, 0) AS wide_functions, coalesce(arithmetic_functions, 0) AS arithmetic_functions,
    coalesce(bit_functions, 0) AS bit_functions, coalesce(gained_functions, 0) AS gained_functions,
    round(100.0 * coalesce(gained_functions, 0) / functions, 1)::DOUBLE AS percent_of_functions,
    round(100.0 * coalesce(gained_bytes, 0) / code_bytes, 1)::DOUBLE AS percent_of_code, round(100.0 * coalesce(wide_bytes, 0) / code_bytes, 1)::DOUBLE AS percent_wide
FROM whole LEFT JOIN counted USING (package) LEFT JOIN chosen USING (package)
ORDER BY percent_of_code DESC, package;
