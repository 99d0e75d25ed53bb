-- SPDX-License-Identifier: MIT
-- Recursion, tables, closures, strings and floating point. Argument: how many rounds.
local rounds = tonumber(arg[1]) or 4

local function fib(n)
    if n < 2 then return n end
    return fib(n - 1) + fib(n - 2)
end

local function sieve(n)
    local composite, count = {}, 0
    for i = 2, n do
        if not composite[i] then
            count = count + 1
            for j = i * i, n, i do composite[j] = true end
        end
    end
    return count
end

local function words(n)
    local seen, order = {}, {}
    for i = 1, n do
        local word = string.format("w%d", (i * 7919) % 997)
        if not seen[word] then
            seen[word] = 0
            order[#order + 1] = word
        end
        seen[word] = seen[word] + #word
    end
    table.sort(order, function(a, b) return seen[a] > seen[b] or (seen[a] == seen[b] and a < b) end)
    return #table.concat(order, ",")
end

local function mandelbrot(size)
    local inside = 0
    for py = 0, size - 1 do
        for px = 0, size - 1 do
            local cx, cy, x, y, n = px * 3 / size - 2, py * 2 / size - 1, 0.0, 0.0, 0
            while n < 50 and x * x + y * y < 4 do
                x, y, n = x * x - y * y + cx, 2 * x * y + cy, n + 1
            end
            if n == 50 then inside = inside + 1 end
        end
    end
    return inside
end

local sum = 0
for round = 1, rounds do
    sum = sum + fib(21) + sieve(30000) + words(6000) + mandelbrot(60)
end
print(sum)
