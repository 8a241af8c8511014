-- Packages with code after checks of the CPU, by the highest level of that code, and packages with functions that are unknown.
SELECT "group", highest AS level_guarded, count(*) AS packages, sum(files)::BIGINT AS files
FROM (SELECT "group", package, max(level_guarded) AS highest, count(*) FILTER (level_guarded IS NOT NULL) AS files FROM code GROUP BY ALL)
WHERE highest IS NOT NULL GROUP BY ALL ORDER BY "group", highest;
