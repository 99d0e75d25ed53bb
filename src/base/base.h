// SPDX-License-Identifier: MIT
/*
 * What nearly every source file uses: errors, growing arrays, comparison, bisection, releasing what
 * a function holds, and the everyday headers of the C library. Headers include what they need
 * themselves.
 */
#ifndef HP_BASE_BASE_H
#define HP_BASE_BASE_H

#include "base/bisect.h"
#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/sums.h"
#include "hotpath/error.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#endif
