-- Packages with unoptimised code: its share of their code, in files of which it is notable.
WITH code_of AS (
    SELECT "group", package, sum(decoded_bytes) AS bytes FROM code GROUP BY ALL
)
SELECT found.group, found.package, count(DISTINCT file) AS files, sum(json_extract_string(evidence, '$.functions')::BIGINT)::BIGINT AS functions,
    round(100 * sum(json_extract_string(evidence, '$.bytes')::BIGINT) / any_value(code_of.bytes), 1) AS percent_of_code
FROM found JOIN code_of ON code_of.group = found.group AND code_of.package = found.package
WHERE rule = 'unoptimised-code'
GROUP BY ALL ORDER BY found.group, percent_of_code DESC, found.package;
