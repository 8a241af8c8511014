-- Packages and files by the compilers that signed them: family and major version. Debian's builds strip that from programs and libraries.
WITH signed AS (
    SELECT "group", package, file, unnest(CASE WHEN len(compilers) > 0 THEN compilers ELSE ['(not said)'] END) AS text FROM code
    WHERE go_version IS NULL
    UNION ALL SELECT "group", package, file, go_version FROM code WHERE go_version IS NOT NULL
), named AS (
    SELECT "group", package, file, CASE
        WHEN text LIKE 'GCC:%' THEN 'GCC ' || regexp_extract(text, '\) (\d+)', 1)
        WHEN text LIKE 'rustc version%' THEN 'rustc ' || regexp_extract(text, '(\d+\.\d+)', 1)
        WHEN text LIKE '%clang version%' THEN 'clang ' || regexp_extract(text, 'clang version (\d+)', 1)
        WHEN text LIKE 'go%' THEN 'Go ' || regexp_extract(text, 'go(\d+\.\d+)', 1)
        WHEN text = '(not said)' THEN text ELSE regexp_extract(text, '^[A-Za-z]+') END AS compiler
    FROM signed WHERE text NOT LIKE 'Linker: %'
)
SELECT "group", compiler, count(DISTINCT package) AS packages, count(DISTINCT file) AS files FROM named GROUP BY ALL ORDER BY "group", packages DESC, compiler;
