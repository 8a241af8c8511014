-- Packages and files by what their build left in them or left out, with the calls that it concerns. Development, debug and test packages apart.
SELECT "group", rule, regexp_matches(package, '-(dev|dbg|dbgsym|tests?)$') AS is_for_development, count(DISTINCT package) AS packages,
    count(DISTINCT file) AS files, sum(coalesce(TRY_CAST(json_extract_string(evidence, '$.calls') AS BIGINT), 0))::BIGINT AS counted
FROM found
WHERE rule IN ('unoptimised-code', 'assertions-left-in', 'instrumentation-left-in', 'interposable-call', 'tls-by-call', 'refused-by-loader', 'page-size', 'fast-math-at-load', 'debug-information-left-in')
    AND other_path IS NULL
GROUP BY ALL ORDER BY "group", rule, is_for_development;
