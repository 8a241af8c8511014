-- Packages by the level that their most demanding file needs, and files by level.
WITH needed AS (
    SELECT "group", package, max(level) AS level FROM code GROUP BY ALL
), files AS (
    SELECT "group", level, count(*) AS files FROM code GROUP BY ALL
)
SELECT files.group, files.level, coalesce(count(package), 0) AS packages, any_value(files.files) AS files
FROM files LEFT JOIN needed ON needed.group = files.group AND needed.level = files.level
GROUP BY ALL ORDER BY files.group, files.level;
