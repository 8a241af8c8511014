-- AArch64: packages by how their atomics were compiled, as the query `atomics` of deburr has it.
WITH summed AS (
    SELECT "group", package, sum(inline_llsc) AS llsc, sum(inline_lse) AS lse, sum(outlined_calls) AS outlined
    FROM code WHERE arch = 'aarch64' GROUP BY ALL
)
SELECT "group", CASE WHEN llsc + lse + outlined = 0 THEN 'none' WHEN llsc > 0 AND lse + outlined = 0 THEN 'LL/SC only' WHEN llsc > 0 THEN 'mixed'
    WHEN outlined > 0 THEN 'outlined' ELSE 'LSE' END AS class, count(*) AS packages
FROM summed GROUP BY ALL ORDER BY "group", class;
