// SPDX-License-Identifier: MIT
/* Quicksort by recursion, insertion sort below, checked through a comparison by pointer. */
#include "rt.h"

#define N 3000

static int data[N];

static int ascending(int a, int b)
{
    return a <= b;
}

static void insertion(int *from, int n)
{
    for (int i = 1; i < n; i++) {
        int value = from[i], j = i;
        while (j > 0 && from[j - 1] > value) {
            from[j] = from[j - 1];
            j--;
        }
        from[j] = value;
    }
}

static void quick(int *from, int n)
{
    if (n < 12) {
        insertion(from, n);
        return;
    }
    int pivot = from[n / 2], i = 0, j = n - 1;
    for (;; i++, j--) {
        while (from[i] < pivot)
            i++;
        while (from[j] > pivot)
            j--;
        if (i >= j)
            break;
        int swap = from[i];
        from[i] = from[j];
        from[j] = swap;
    }
    quick(from, i);
    quick(from + i, n - i);
}

static int in_order(int (*order)(int, int))
{
    for (int i = 1; i < N; i++)
        if (!order(data[i - 1], data[i]))
            return 0;
    return 1;
}

int main(void)
{
    u32 state = 99;
    for (int i = 0; i < N; i++)
        data[i] = (int)(rt_random(&state) % 10000);
    quick(data, N);
    return in_order(ascending) ? 0 : 1;
}
