create table one_user (id int primary key, word text)
insert into one_user select i, 'word ' || i from generate_series(1, 3000) i
select count(*), sum(id), md5(string_agg(word, ',' order by id)) from one_user
update one_user set word = upper(word) where id % 3 = 0
select id, word from one_user where id between 8 and 12 order by id
vacuum full one_user
checkpoint
drop table one_user
