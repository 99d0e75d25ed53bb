# needs: gcc
# The engine inside itself: the inner one must count the same as one that is not inside.
"$SUITES_HOTPATH" run -q --engine native --json counts --profile counts -- sh -c 'echo inner; exit 4'; echo "status $?"
grep -m1 -E '"exit_status"' counts
"$SUITES_HOTPATH" run -q --engine native --json counts --profile exact -- ls / >/dev/null; echo "status $?"
"$SUITES_HOTPATH" record -q --profile exact -o out -- sort /etc/passwd >/dev/null; echo "record $?"
"$SUITES_HOTPATH" report out 2>/dev/null | head -1 | sed 's/[0-9.]* s,/N s,/'
