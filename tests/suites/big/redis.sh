# needs: redis-server redis-benchmark redis-cli
# Loads of several kinds, a copy saved by a forked child, scripts; then the same from the saved file.
server() { redis-server --port 0 --unixsocket "$PWD/s" --dir "$PWD" --save '' --io-threads 2 --enable-debug-command local --daemonize no --logfile log & }
ask() { redis-cli -s "$PWD/s" "$@"; }
wait_for() { for _ in $(seq 600); do ask ping >/dev/null 2>&1 && return; sleep 0.1; done; echo "no server"; tail -3 log; exit 1; }
server
wait_for
redis-benchmark -s "$PWD/s" -n 3000 -c 20 -P 4 -q -t set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset >bench 2>&1; echo "bench $?"
ask flushall
ask eval 'for i = 1, 20000 do redis.call("set", "k" .. i, i * i) end return redis.call("dbsize")' 0
ask bgsave
for _ in $(seq 600); do ask info persistence | grep -q 'rdb_bgsave_in_progress:0' && break; sleep 0.1; done
ask info persistence | grep -a rdb_last_bgsave_status | tr -d '\r'
ask shutdown nosave
wait
server
wait_for
ask dbsize
ask get k12345
ask debug digest
ask shutdown nosave
wait
echo "end $?"
