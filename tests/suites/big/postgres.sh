# needs: /usr/lib/postgresql/*/bin/initdb /usr/lib/postgresql/*/bin/pgbench
# A database made, filled, asked by four clients at once, its server killed and recovered.
PATH=$(echo /usr/lib/postgresql/*/bin | cut -d' ' -f1):$PATH
initdb -D data -A trust --no-locale -E UTF8 -N >initdb.log 2>&1 || { echo "initdb $?"; tail -5 initdb.log; exit 1; }
cat >>data/postgresql.conf <<P
unix_socket_directories = '$PWD'
listen_addresses = ''
fsync = off
logging_collector = off
jit = on
P
export PGHOST=$PWD PGDATABASE=postgres PGUSER=$(id -un)
pg_ctl -D data -w -t 300 -l server.log start >/dev/null || { echo "start $?"; tail -5 server.log; exit 1; }
pgbench -q -i -s 1 >log 2>&1; echo "filled $?"
pgbench -n -c 4 -j 2 -t 100 >log 2>&1; echo "asked $?"
grep -E '^number of transactions actually' log
psql -Atc "select count(*), sum(abalance) = (select sum(tbalance) from pgbench_tellers) from pgbench_accounts"
psql -Atc "select count(*) from pgbench_history"
psql -Atc "set jit_above_cost = 0; set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set min_parallel_table_scan_size = 0;
    select bid, count(*), sum(aid * 3 % 7) from pgbench_accounts group by bid"
psql -Atc "select md5(string_agg(i::text || sqrt(i)::text, ',' order by i)) from generate_series(1, 20000) i"
psql -Atc "set statement_timeout = 300; select pg_sleep(60)" 2>&1
server=$(head -1 data/postmaster.pid)
kill -9 "$server"
while kill -0 "$server" 2>/dev/null; do sleep 0.2; done
# The others of the old server notice by themselves; until then it cannot start.
for _ in $(seq 100); do
    rm -f .s.PGSQL.* data/postmaster.pid
    pg_ctl -D data -w -t 300 -l server.log start >/dev/null 2>&1 && break
    sleep 0.5
done
psql -Atc "select count(*) from pgbench_history"
pg_ctl -D data -w -t 300 -m fast stop >/dev/null; echo "stopped $?"
