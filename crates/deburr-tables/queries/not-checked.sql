-- What could not be checked, and why, in the latest run of each.
SELECT path, error
FROM read_parquet('files/*.parquet', union_by_name = true)
QUALIFY run = max(run) OVER (PARTITION BY file) AND error IS NOT NULL
ORDER BY path;
