-- Wheels whose loops without an LSE path are all in libraries that were put into them (`NAME.libs/`, as auditwheel does), and wheels with such loops.
SELECT "group", count(*) FILTER (bundled) AS bundled, count(*) AS packages
FROM (SELECT "group", package, bool_and(member LIKE '%.libs/%') AS bundled FROM found
    WHERE "group" = 'wheels-aarch64' AND rule = 'llsc-loop' AND severity = 'warning' GROUP BY ALL)
GROUP BY ALL;
