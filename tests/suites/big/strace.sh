# needs: strace
# A tracer and what it traces, both in the engine.
printf 'hello\n' >f
strace -f -o log -e trace=openat,execve,wait4 sh -c 'cat f; cat f >g; exit 3'; echo "status $?"
grep -c 'execve(' log
grep -E 'openat.*"f"' log | sed 's/^[0-9]* *//'
grep -c 'exited with' log
strace -c -o log true; echo "status $?"
