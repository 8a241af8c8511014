-- Files that a loader refuses, that cannot be loaded with larger pages, or that change arithmetic when they are loaded.
SELECT "group", package, rule, severity, count(DISTINCT file) AS files, any_value(message ORDER BY member) AS example
FROM found WHERE rule IN ('refused-by-loader', 'page-size', 'fast-math-at-load', 'instrumentation-left-in')
GROUP BY ALL ORDER BY "group", rule, files DESC, package;
