-- Files that could not be checked, by reason.
SELECT checked.group, error, count(DISTINCT checked.package) AS packages, count(*) AS files
FROM checked JOIN read_parquet('files/*.parquet', union_by_name = true) AS file USING (run, artefact)
WHERE error IS NOT NULL GROUP BY ALL ORDER BY checked.group, packages DESC, error;
