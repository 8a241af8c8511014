-- How many packages of each list were checked, and how much code they have.
SELECT listed.group, count(DISTINCT listed.name) AS listed, count(DISTINCT checked.package) AS checked, count(DISTINCT code.package) AS with_code,
    count(DISTINCT code.file) AS files, sum(code.functions)::BIGINT AS functions, sum(code.decoded_bytes)::BIGINT AS code_bytes,
    sum(code.undecoded_bytes)::BIGINT AS undecoded_bytes
FROM listed LEFT JOIN checked ON checked.group = listed.group AND checked.package = listed.name LEFT JOIN code USING (run, artefact)
GROUP BY ALL ORDER BY listed.group;
