// SPDX-License-Identifier: MIT
/*
 * The order of two numbers for qsort(): less than, equal to or greater than 0. Several keys are
 * joined with "?:"; the first that differs decides:
 *
 *     return HP_COMPARE(b->count, a->count) ?: HP_COMPARE(a->address, b->address);
 */
#ifndef HP_BASE_COMPARE_H
#define HP_BASE_COMPARE_H

#define HP_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

#endif
