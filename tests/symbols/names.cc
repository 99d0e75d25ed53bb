// SPDX-License-Identifier: MIT
/* Mangled names of several kinds. */
#include <cstdlib>

namespace shop
{
struct Till {
    int sum = 0;
    __attribute__((noinline)) int add(int amount, const char *note);
    __attribute__((noinline)) int total() const;
};
int Till::add(int amount, const char *note)
{
    return sum += amount + (note ? std::atoi(note) : 0);
}
int Till::total() const
{
    return sum;
}
__attribute__((noinline)) int twice(int x)
{
    return std::atoi("1") + x;
}
__attribute__((noinline)) int twice(double x)
{
    return static_cast<int>(x) + std::atoi("2");
}
template <typename T> __attribute__((noinline)) T grow(T x)
{
    return x + T(std::atoi("3"));
}
} // namespace shop

int main()
{
    shop::Till till;
    till.add(1, "2");
    return till.total() + shop::twice(1) + shop::twice(1.5) + shop::grow<long>(4) > 1000;
}
