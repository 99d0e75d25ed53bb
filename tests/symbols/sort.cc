// SPDX-License-Identifier: MIT
/* Templates of the standard library: much inlining, several levels deep. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
    std::vector<std::string> words(argv, argv + argc);
    std::map<std::string, int> count;
    std::sort(words.begin(), words.end(), [](const auto &a, const auto &b) { return b < a; });
    for (const auto &word : words)
        count[word] += static_cast<int>(word.size());
    int sum = 0;
    for (const auto &[word, n] : count)
        sum += n * std::atoi(word.c_str());
    std::printf("%d\n", sum);
    return 0;
}
