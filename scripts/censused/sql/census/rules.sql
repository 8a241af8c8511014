-- Packages with findings of a rule, by severity.
SELECT "group", rule, severity, count(DISTINCT package) AS packages, count(DISTINCT file) AS files, count(*) AS findings
FROM found GROUP BY ALL ORDER BY "group", rule, severity;
