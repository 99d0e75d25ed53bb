// SPDX-License-Identifier: MIT
// C++ exceptions through many frames, many kinds, in many threads at the same time.
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<long> destroyed;

struct Guard {
    ~Guard()
    {
        destroyed++;
    }
};

struct Mine : std::runtime_error {
    int value;
    explicit Mine(int v) : std::runtime_error("mine"), value(v)
    {
    }
};

__attribute__((noinline)) static int dive(int depth, int kind)
{
    Guard guard;
    if (depth == 0) {
        if (kind == 0)
            throw 7;
        if (kind == 1)
            throw Mine(8);
        throw std::out_of_range("far");
    }
    try {
        return dive(depth - 1, kind) + 1;
    } catch (const std::out_of_range &) {
        if (depth % 10 == 0)
            throw; // on its way up it is caught and thrown again
        throw;
    }
}

static long rounds(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        try {
            dive(i % 50, i % 3);
        } catch (int v) {
            sum += v;
        } catch (const Mine &mine) {
            sum += mine.value;
        } catch (const std::exception &e) {
            sum += long(std::string(e.what()).size());
        }
    }
    return sum;
}

int main()
{
    printf("%ld\n", rounds(300));
    std::vector<std::thread> threads;
    std::atomic<long> sum{0};
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&sum] { sum += rounds(200); });
    for (auto &t : threads)
        t.join();
    printf("%ld %ld\n", sum.load(), destroyed.load());
    try {
        std::thread([] {}).detach();
        std::vector<int>(3).at(10) = 1;
    } catch (const std::exception &) {
        puts("caught");
    }
    fflush(stdout);
    throw Mine(1); // nobody catches it
}
