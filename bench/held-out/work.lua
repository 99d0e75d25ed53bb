-- SPDX-License-Identifier: MIT
-- Objects, coroutines, patterns, a heap, matrices and bytes. Argument: how many rounds.
local rounds = tonumber(arg[1]) or 4
local state = 99

local function draw(below)
    state = (state * 16807) % 2147483647
    return state % below
end

local Shape = {}
Shape.__index = Shape
function Shape.new(w, h) return setmetatable({w = w, h = h}, Shape) end
function Shape:area() return self.w * self.h end
local Round = setmetatable({}, {__index = Shape})
Round.__index = Round
function Round.new(r) return setmetatable({r = r}, Round) end
function Round:area() return 3 * self.r * self.r end

local function shapes(n)
    local sum = 0
    for i = 1, n do
        local s = i % 3 == 0 and Round.new(draw(9)) or Shape.new(draw(9), i % 5)
        sum = sum + s:area()
    end
    return sum
end

local function permutations(items)
    local function go(n)
        if n == 0 then coroutine.yield(items) end
        for i = 1, n do
            items[i], items[n] = items[n], items[i]
            go(n - 1)
            items[i], items[n] = items[n], items[i]
        end
    end
    local count = 0
    for p in coroutine.wrap(function() go(#items) end) do
        if p[1] < p[#p] then count = count + 1 end
    end
    return count
end

local function text(n)
    local parts = {}
    for i = 1, n do parts[i] = string.format("%s=%d;", string.rep(string.char(97 + draw(26)), 1 + draw(5)), draw(1000)) end
    local sum = 0
    for key, value in table.concat(parts):gmatch("(%a+)=(%d+);") do sum = sum + #key * tonumber(value) end
    local changed = table.concat(parts, " "):gsub("%d+", function(d) return #d > 2 and "<" .. d .. ">" or nil end)
    return sum + #changed:upper():reverse()
end

local function heap(n)
    local h, size, sum = {}, 0, 0
    for _ = 1, n do
        size = size + 1
        local at, value = size, draw(100000)
        while at > 1 and h[at // 2] > value do h[at], at = h[at // 2], at // 2 end
        h[at] = value
    end
    while size > 0 do
        sum = (sum * 3 + h[1]) % 1000003
        local value, at = h[size], 1
        size = size - 1
        while 2 * at <= size do
            local child = 2 * at
            if child < size and h[child + 1] < h[child] then child = child + 1 end
            if h[child] >= value then break end
            h[at], at = h[child], child
        end
        h[at] = value
    end
    return sum
end

local function matrix(n)
    local a = {}
    for i = 1, n do
        a[i] = {}
        for j = 1, n do a[i][j] = draw(100) / 10 + (i == j and 50 or 0) end
    end
    local determinant = 1.0
    for k = 1, n do
        determinant = determinant * a[k][k] / 50
        for i = k + 1, n do
            local factor = a[i][k] / a[k][k]
            for j = k, n do a[i][j] = a[i][j] - factor * a[k][j] end
        end
    end
    return math.floor(determinant * 1000)
end

local function checksum(data)
    local a, b = 1, 0
    for i = 1, #data do
        a = (a + data:byte(i)) % 65521
        b = (b + a) % 65521
    end
    return b << 16 | a
end

local total = 0
for _ = 1, rounds do
    total = total + shapes(2000) + permutations({3, 1, 4, 1, 5, 9}) + text(300) + heap(500) + matrix(18)
    total = total ~ checksum(string.rep("held out ", 300))
end
print(total)
