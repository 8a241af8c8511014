-- What the queries of the two builds have in common. Builds for x86-64 are in v1/, those for x86-64-v3 in v3/, and the files of both have
-- the same names.
CREATE VIEW file AS
    SELECT split_part(artefact.path, '/', 1) AS build, artefact.package, artefact.version, file.*
    FROM read_parquet('artefacts/*.parquet', union_by_name = true) AS artefact
    JOIN read_parquet('files/*.parquet', union_by_name = true) AS file USING (run, artefact)
    QUALIFY file.run = max(file.run) OVER (PARTITION BY file.file);
CREATE VIEW changed AS
    SELECT path, svma, bool_or(what = 'vector-width' AND "new" = '256 bits') AS arithmetic,
        bool_or(what IN ('vector-width', 'vector-moves') AND "new" = '256 bits') AS wide,
        bool_or(what = 'features' AND regexp_matches("new", '\b(BMI|LZCNT|MOVBE)') AND NOT regexp_matches("old", '\b(BMI|LZCNT|MOVBE)')) AS bits
    FROM read_json('diff.json', format = 'newline_delimited', columns = {path: 'VARCHAR', svma: 'VARCHAR', what: 'VARCHAR', old: 'VARCHAR', "new": 'VARCHAR'})
    GROUP BY ALL;
CREATE VIEW gained AS
    SELECT file.package, file.member, function.function, function.size, changed.*
    FROM changed JOIN file USING (path)
    JOIN read_parquet('functions/*.parquet', union_by_name = true) AS function ON function.run = file.run AND function.file = file.file AND function.svma = changed.svma
    WHERE file.build = 'v3' AND function.reach <> 'guarded' AND (wide OR bits);
