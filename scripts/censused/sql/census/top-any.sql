-- The packages with most findings of each rule.
SELECT "group", rule, package, count(*) AS findings FROM found GROUP BY "group", rule, package
QUALIFY row_number() OVER (PARTITION BY "group", rule ORDER BY findings DESC, package) <= 8
ORDER BY "group", rule, findings DESC, package;
