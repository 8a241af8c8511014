-- What both forms of PostgreSQL must answer alike: catalogs as initdb made them, then tables, indexes, transactions.
select count(*), md5(string_agg(proname || ' ' || prosrc, ',' order by oid)) from pg_proc;
select count(*), md5(string_agg(relname || ' ' || relkind::text, ',' order by oid)) from pg_class where oid < 16384;
create table person (id int primary key, name text not null, born date, sum numeric(12, 2) default 0);
insert into person select i, 'person ' || i, date '1950-01-01' + i % 20000, i * 1.5 from generate_series(1, 20000) i;
create index on person (born, name);
analyze person;
select count(*), sum(id), avg(sum), min(born), max(name) from person;
update person set sum = sum + 1 where id % 7 = 0;
delete from person where id % 11 = 0;
begin;
delete from person;
rollback;
select born, count(*) from person group by born order by 2 desc, 1 limit 5;
select p.id, q.id from person p join person q on q.id = p.id * 2 where p.born between '1950-01-10' and '1950-01-12' order by 1;
create function fibonacci(n int) returns numeric language plpgsql as $$
declare a numeric := 0; b numeric := 1; c numeric;
begin
    for i in 1 .. n loop c := a + b; a := b; b := c; end loop;
    return a;
end $$;
select fibonacci(300);
select to_tsvector('english', 'The quick brown foxes jumped over the lazy dogs');
select jsonb_agg(jsonb_build_object('id', id, 'name', name) order by id) from person where id < 5;
select regexp_replace('aarch64', '[0-9]+', '_'), 'x' ~ '^y', to_char(1234.5, '9,999.99'), round(exp(1::numeric), 20);
select 1 / 0;
vacuum person;
set max_parallel_workers_per_gather = 2;
set min_parallel_table_scan_size = 0;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
select count(*), sum(sum), sum(hashtext(name)::bigint) from person;
drop table person;
