# needs: valgrind gcc
# Another code cache inside the engine.
cat >p.c <<'P'
#include <stdlib.h>
#include <stdio.h>
int main(void) { int *p = malloc(40); volatile int x = p[10]; for (int i = 0, s = 0; i < 100000; i++) { s += i; if (i == 99999) printf("%d\n", s); } return 0; }
P
gcc -g -O0 -o p p.c
valgrind --leak-check=full ./p 2>&1 | grep -E 'Invalid read|ERROR SUMMARY|definitely lost|^[0-9]' | sed 's/==[0-9]*== *//'
valgrind --tool=callgrind --callgrind-out-file=cg ./p >/dev/null 2>&1; echo "callgrind $?"
