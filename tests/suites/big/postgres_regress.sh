# needs: $SUITES_POSTGRES /usr/lib/postgresql/*/lib/pgxs/src/test/regress/pg_regress gcc
# PostgreSQL's regression tests. SUITES_POSTGRES: the unpacked source package of the server that is installed.
# SUITES_POSTGRES_TESTS: only these (default: all of parallel_schedule).
PATH=$(echo /usr/lib/postgresql/*/bin | cut -d' ' -f1):$PATH
regress=$(echo /usr/lib/postgresql/*/lib/pgxs/src/test/regress/pg_regress | cut -d' ' -f1)
cp -r "$SUITES_POSTGRES/src/test/regress" in && cd in || exit 1
gcc -shared -fPIC -O2 -w -I"$(pg_config --includedir-server)" -o regress.so regress.c || exit 1
initdb -D ../data -A trust --no-locale -E UTF8 -N >../initdb.log 2>&1 || { echo "initdb $?"; exit 1; }
cat >>../data/postgresql.conf <<P
unix_socket_directories = '${PWD%/in}'
listen_addresses = ''
fsync = off
P
export PGHOST=${PWD%/in} PGUSER=$(id -un)
pg_ctl -D ../data -w -t 300 -l ../server.log start >/dev/null || { echo "start $?"; exit 1; }
if [ -n "${SUITES_POSTGRES_TESTS:-}" ]; then tests=$SUITES_POSTGRES_TESTS; else tests=--schedule=parallel_schedule; fi
"$regress" --host="$PGHOST" --dlpath="$PWD" --inputdir=. --outputdir=. --bindir="$(pg_config --bindir)" $tests >../log 2>&1
echo "status $?"
sed -E 's/ +[0-9]+ ms$//' ../log | grep -E ' \.\.\. |tests (passed|failed)'
pg_ctl -D ../data -w -t 300 -m fast stop >/dev/null; echo "stopped $?"
