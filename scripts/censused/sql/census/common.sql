-- What the queries of the census have in common: packages of the lists as their latest run found them, and their files with code of
-- the group's architecture. A file that is no program (an object for a virtual machine) or has no code counts nowhere.
CREATE VIEW listed AS
    SELECT parse_filename(filename, true) AS "group", name, sha256, chosen FROM read_csv(getvariable('lists') || '/*-*.tsv', delim = '\t', quote = '', filename = true,
        header = true, all_varchar = true);
CREATE VIEW checked AS
    SELECT run, artefact, "group", name AS package, version, chosen
    FROM read_parquet('artefacts/*.parquet', union_by_name = true) AS artefact
    JOIN listed ON listed.sha256 = artefact.sha256 AND listed.group = split_part(artefact.path, '/', 1)
    QUALIFY run = max(run) OVER (PARTITION BY artefact);
CREATE VIEW code AS
    SELECT checked.*, file.* EXCLUDE (run, artefact)
    FROM checked JOIN read_parquet('files/*.parquet', union_by_name = true) AS file USING (run, artefact)
    WHERE error IS NULL AND executable_bytes > 0 AND arch = CASE WHEN checked.group IN ('debian-arm64', 'wheels-aarch64') THEN 'aarch64' ELSE 'x86_64' END;
CREATE VIEW found AS
    SELECT code.group, code.package, code.member, code.file, code.compilers, finding.* EXCLUDE (file)
    FROM code JOIN read_parquet('findings/*.parquet', union_by_name = true) AS finding USING (run, file);
