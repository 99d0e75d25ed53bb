// SPDX-License-Identifier: MIT
/* Two versions of one function: the linker writes "tool@V1" and "tool@@V2" into .symtab. */
__asm__(".symver tool_old, tool@V1");
__asm__(".symver tool_new, tool@@V2");

int tool_old(void);
int tool_new(void);

int tool_old(void)
{
    return 1;
}

int tool_new(void)
{
    return 2;
}
