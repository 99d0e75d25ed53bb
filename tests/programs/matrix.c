// SPDX-License-Identifier: MIT
/* Products of matrices of integers and of floating-point numbers. */
#include "rt.h"

#define N 24

static int a[N][N], b[N][N], c[N][N];
static double x[N][N], y[N][N], z[N][N];

static void fill(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = i - j;
            b[i][j] = i * j % 7;
            x[i][j] = 1.0 / (1 + i + j);
            y[i][j] = i == j ? 2.0 : 0.5;
        }
}

static void multiply(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

static void multiply_real(void)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                z[i][j] += x[i][k] * y[k][j];
}

int main(void)
{
    fill();
    multiply();
    multiply_real();
    u64 sum = 0;
    for (int i = 0; i < N; i++)
        sum += (u64)(c[i][i] * c[i][i]) + (u64)(long)(z[i][N - 1 - i] * 1000);
    rt_print(sum);
    return 0;
}
