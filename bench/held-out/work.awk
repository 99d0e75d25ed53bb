# SPDX-License-Identifier: MIT
# Sums by key, counts words of addresses, rewrites fields.
{
    requests[$1]++
    bytes[$1] += $NF
    status = $(NF - 1)
    by_status[status]++
    count = split($7, parts, /[\/?&=.]/)
    for (i = 1; i <= count; i++)
        if (parts[i] ~ /^[a-z]+$/)
            words[parts[i]] += length(parts[i])
}
status >= 400 && match($0, /id=[0-9a-f]+/) {
    id = substr($0, RSTART + 3, RLENGTH - 3)
    gsub(/[0-9]/, "#", id)
    shapes[id] = sprintf("%s-%05d", toupper(substr($6, 2)), shapes[id] + 1)
}
END {
    for (key in requests)
        sum += bytes[key] / requests[key]
    for (key in words)
        total += words[key]
    for (key in shapes)
        different++
    printf "%.2f %d %d %d %d\n", sum, total, different, by_status[200], by_status[404]
}
