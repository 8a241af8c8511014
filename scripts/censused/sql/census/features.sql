-- Packages by the features that their functions above the first level use, with and without a check of the CPU before them.
WITH used AS (
    SELECT code.group, code.package, reach, unnest(map_keys(function.features)) AS feature
    FROM code JOIN read_parquet('functions/*.parquet', union_by_name = true) AS function USING (run, file)
    WHERE reach IS NOT NULL
)
SELECT "group", feature, count(DISTINCT package) AS packages, count(DISTINCT package) FILTER (reach = 'guarded') AS guarded,
    count(DISTINCT package) FILTER (reach IN ('required', 'under-guarded')) AS required
FROM used GROUP BY ALL ORDER BY "group", packages DESC, feature;
