-- The packages with most calls that findings about a build count.
WITH counted AS (
    SELECT "group", rule, package, sum(TRY_CAST(json_extract_string(evidence, '$.calls') AS BIGINT))::BIGINT AS counted
    FROM found WHERE rule IN ('assertions-left-in', 'instrumentation-left-in', 'interposable-call', 'tls-by-call') AND other_path IS NULL
    GROUP BY ALL
)
SELECT * FROM counted QUALIFY row_number() OVER (PARTITION BY "group", rule ORDER BY counted DESC NULLS LAST, package) <= 8
ORDER BY "group", rule, counted DESC, package;
