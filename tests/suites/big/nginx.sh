# needs: nginx ab
# A server with two workers: 3000 requests by 20 clients, a reload under way, an orderly end.
mkdir -p logs www tmp
for i in 1 2 3; do head -c $((i * 20000)) /dev/zero | tr '\0' "$i" >"www/f$i"; done
port=$((20000 + $$ % 20000))
cat >nginx.conf <<P
worker_processes 2;
daemon off;
pid $PWD/pid;
error_log $PWD/logs/error.log;
events { worker_connections 200; }
http {
  access_log $PWD/logs/access.log;
  client_body_temp_path $PWD/tmp; proxy_temp_path $PWD/tmp; fastcgi_temp_path $PWD/tmp; uwsgi_temp_path $PWD/tmp; scgi_temp_path $PWD/tmp;
  gzip on; gzip_types *;
  server { listen 127.0.0.1:$port; root $PWD/www; }
}
P
nginx -p "$PWD" -e logs/error.log -c nginx.conf &
for _ in $(seq 300); do [ -s pid ] && ab -q -n 1 "http://127.0.0.1:$port/f1" >/dev/null 2>&1 && break; sleep 0.1; done
for i in 1 2 3; do
    ab -q -n 1000 -c 20 "http://127.0.0.1:$port/f$i" >out 2>&1
    grep -E '^(Complete|Failed|Non-2xx|Document Length)' out
    [ "$i" = 2 ] && kill -HUP "$(cat pid)"
done
ab -q -k -n 500 -c 5 -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/f3" | grep -E '^(Complete|Document Length)'
kill -QUIT "$(cat pid)"
wait
echo "end $?"
grep -E 'alert|emerg|crit' logs/error.log
