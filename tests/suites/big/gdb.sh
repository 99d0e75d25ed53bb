# needs: gdb gcc
# A debugger and what it debugs, both in the engine.
cat >p.c <<'P'
#include <stdio.h>
int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
int global = 5;
int main(void) { int r = f(global); global = r + 1; printf("%d\n", r); return r; }
P
gcc -g -O0 -o p p.c
gdb -q -nx -batch -ex 'set debuginfod enabled off' -ex 'set confirm off' -ex 'break f if n == 1' -ex run -ex bt -ex 'p n' -ex delete \
    -ex 'watch global' -ex continue -ex continue ./p 2>&1 | grep -vE 'thread|linux-vdso|warning' | sed 's/0x[0-9a-f]*/X/g; s/process [0-9]*/process N/'
