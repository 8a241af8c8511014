-- AArch64: packages and files by what their atomics are, and how many places there are.
WITH places AS (
    UNPIVOT (SELECT "group", package, file, inline_llsc, inline_lse, helper_bodies, outlined_calls, inline_dispatch + run_time_choice AS run_time_choice, not_a_missed_flag
        FROM code WHERE arch = 'aarch64')
    ON inline_llsc, inline_lse, helper_bodies, outlined_calls, run_time_choice, not_a_missed_flag INTO NAME what VALUE places
)
SELECT "group", what, count(DISTINCT package) FILTER (places > 0) AS packages, count(*) FILTER (places > 0) AS files, sum(places)::BIGINT AS places
FROM places GROUP BY ALL ORDER BY "group", what;
