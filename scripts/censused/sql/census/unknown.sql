-- Packages with functions above the first level of which it is unknown whether a check is before them.
SELECT "group", count(DISTINCT package) AS packages, sum(not_followed)::BIGINT AS functions FROM code WHERE not_followed > 0 GROUP BY ALL ORDER BY "group";
