// SPDX-License-Identifier: MIT
/* A library for codegen.c; built twice, with another VALUE. */
int part_value(int x);

int part_value(int x)
{
    return x * VALUE + 1;
}
