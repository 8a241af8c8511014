-- What each package was found to have, without what compares it with other packages of the run: docs/results/census/found.tsv.
SELECT "group", package, rule, severity, count(*) AS findings FROM found WHERE other_path IS NULL
GROUP BY ALL ORDER BY "group", package, rule, severity;
