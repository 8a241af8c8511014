-- Packages that need more than they claim, with the functions that make it so.
SELECT "group", package, count(DISTINCT file) AS files, count(*) AS findings, min(function) FILTER (function IS NOT NULL) AS example
FROM found WHERE rule = 'claim-exceeded' AND severity = 'error' GROUP BY ALL ORDER BY "group", findings DESC, package;
