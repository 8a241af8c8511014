-- When the packages were checked, and by which version.
SELECT string_agg(DISTINCT tool_version, ', ' ORDER BY tool_version) AS tool_version, strftime(min(run) AT TIME ZONE 'UTC', '%Y-%m-%d') AS first,
    strftime(max(run) AT TIME ZONE 'UTC', '%Y-%m-%d') AS last
FROM checked JOIN read_parquet('artefacts/*.parquet', union_by_name = true) AS artefact USING (run, artefact);
