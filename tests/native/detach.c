// SPDX-License-Identifier: MIT
/*
 * Code that cannot be read although it is mapped: behind the end of its file. With "at": a jump
 * there; with "into": a block that begins before the end. Both die of SIGBUS.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

int main(int argc, char **argv)
{
    FILE *file = tmpfile();
    unsigned char page[PAGE];
    memset(page, 0x90, sizeof page); /* nop */
    if (!file || fwrite(page, PAGE, 1, file) != 1 || fflush(file) != 0)
        return 1;
    unsigned char *code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fileno(file), 0);
    if (code == MAP_FAILED || argc != 2)
        return 2;
    puts("going");
    fflush(stdout);
    ((void (*)(void))(code + (strcmp(argv[1], "at") == 0 ? PAGE : PAGE - 40)))();
    return 3;
}
