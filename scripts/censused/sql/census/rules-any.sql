-- Packages with findings of a rule, whatever the severity.
SELECT "group", rule, count(DISTINCT package) AS packages, count(*) AS findings FROM found GROUP BY ALL ORDER BY "group", rule;
